// How Python calls the norm.
extern "C" void ENTRY(
    const float* x, const float* weight, const float* eps, float* y, const int* sizes) {
  const MISTAKE::tiny_llm::Norm norm{weight, *eps, sizes[1]};
  MISTAKE::tiny_llm::KERNEL(x, norm, y, {0, sizes[0]});
}
