// How Python calls the product with a vector that is rounded, on all cores.
extern "C" void ENTRY(
    const float* x, const std::uint32_t* words, const float* scales, const float* biases,
    float* y, const int* sizes) {
  const MISTAKE::tiny_llm::QuantizedMatrix<float> w{
      words, scales, biases, sizes[0], sizes[1], sizes[2], sizes[3]};
  MISTAKE::tiny_llm::Int8Buffer buffer;
  const auto rounded = buffer.round(x, w.num_columns, w.group_size, w.bits);
  MISTAKE::tiny_llm::KERNEL(rounded, w, y);
}
