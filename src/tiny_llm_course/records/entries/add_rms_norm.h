// How Python calls the sum and its norm.
extern "C" void ENTRY(
    const float* x, const float* residual, const float* weight, const float* eps,
    float* sum, float* y, const int* sizes) {
  const MISTAKE::tiny_llm::Norm norm{weight, *eps, sizes[1]};
  MISTAKE::tiny_llm::KERNEL(x, residual, norm, sum, y, {0, sizes[0]});
}
