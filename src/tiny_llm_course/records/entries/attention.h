// How Python calls attention. All arrays are contiguous.
extern "C" void ENTRY(
    const float* query, const float* key, const float* value, const float* mask,
    const float* scale, float* y, const int* sizes) {
  namespace own = MISTAKE::tiny_llm;
  const int B = sizes[0], H = sizes[1], H_kv = sizes[2], L = sizes[3], S = sizes[4],
            D = sizes[5];
  const own::Attention all{
      {query, H * L * D, L * D, D},
      {key, H_kv * S * D, S * D, D},
      {value, H_kv * S * D, S * D, D},
      {sizes[7] ? mask : nullptr, H * L * S, L * S, S, 1},
      sizes[6] != 0, *scale, y, B, H, H_kv, L, S, D};
  own::KERNEL(all);
}
