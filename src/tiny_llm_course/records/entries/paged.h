// How Python calls attention to pages. All arrays are contiguous.
extern "C" void ENTRY(
    const float* query, const float* key_pages, const float* value_pages,
    const float* scale, const int* table, const int* context_lens, float* y,
    const int* sizes) {
  namespace own = MISTAKE::tiny_llm;
  const int B = sizes[0], H = sizes[1], L = sizes[2], D = sizes[3], H_kv = sizes[4],
            P = sizes[5], M = sizes[6];
  std::vector<own::PagedRow> rows;
  for (int b = 0; b < B; ++b) {
    const int at = b * H * L * D;
    rows.push_back({query + at, y + at, table + b * M, L, context_lens[b]});
  }
  own::KERNEL(own::PagedAttention{
      {key_pages, value_pages, H_kv, P, D},
      rows.data(), B, L * D, D, H, sizes[7] != 0, *scale});
}
