// How Python calls what lays out a panel.
extern "C" void ENTRY(
    const std::uint32_t* words, const float* scales, const float* biases,
    std::uint8_t* q, float* panel_scales, float* panel_biases, const int* sizes) {
  const MISTAKE::tiny_llm::QuantizedMatrix<float> w{
      words, scales, biases, sizes[0], sizes[1], sizes[2], sizes[3]};
  const MISTAKE::tiny_llm::Panel panel{q, panel_scales, panel_biases};
  MISTAKE::tiny_llm::KERNEL(w, sizes[4], panel);
}
