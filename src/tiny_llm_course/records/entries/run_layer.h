// How Python calls a whole layer. Its seven matrices follow each other, and so do its
// five vectors; `sizes` ends with rows, columns, group size and bits of each matrix.
extern "C" void ENTRY(
    const float* x, float* keys, float* values, const std::uint32_t* words,
    const float* scales, const float* biases, const float* vectors,
    const double* eps_and_base, float* y, const int* sizes) {
  using namespace tiny_llm;
  const int L = sizes[0], C = sizes[1], offset = sizes[2], H = sizes[3];
  std::vector<QuantizedMatrix<float>> w;
  for (const int* n = sizes + 4; w.size() < 7; n += 4) {
    w.push_back({words, scales, biases, n[0], n[1], n[2], n[3]});
    words += n[0] * (n[1] * n[3] / 32);
    scales += n[0] * (n[1] / n[2]);
    biases += n[0] * (n[1] / n[2]);
  }
  const int Q = w[0].num_rows, K = w[1].num_rows, E = w[3].num_rows, D = Q / H;
  const auto table_size = static_cast<std::size_t>((offset + L) * D / 2);
  std::vector<float> cosines(table_size), sines(table_size);
  fill_rotations(eps_and_base[1], D, {0, offset + L}, cosines.data(), sines.data());
  const float eps = static_cast<float>(eps_and_base[0]);
  const float* const gains = vectors + Q + 2 * K;
  const LayerWeights<float> weights{
      w[0], w[1], w[2], w[3], w[4], w[5], w[6],
      vectors, vectors + Q, vectors + Q + K,
      {gains, eps, E}, {gains + E, eps, E},
      cosines.data(), sines.data(), H, K / D, D};
  const LayerCache cache{keys, values, C, offset};
  MISTAKE::tiny_llm::KERNEL(LayerParts<float>{weights, cache, L}, x, y);
}
