// How Python calls a product of a quantised matrix with a vector of floats.
extern "C" void ENTRY(
    const float* x, const std::uint32_t* words, const float* scales, const float* biases,
    float* y, const int* sizes) {
  const MISTAKE::tiny_llm::QuantizedMatrix<float> w{
      words, scales, biases, sizes[0], sizes[1], sizes[2], sizes[3]};
  MISTAKE::tiny_llm::KERNEL(x, w, y, MISTAKE::tiny_llm::Rows{0, w.num_rows});
}
