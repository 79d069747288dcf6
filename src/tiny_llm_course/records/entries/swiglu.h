// How Python calls the gates.
extern "C" void ENTRY(const float* gate, const float* up, float* y, const int* sizes) {
  MISTAKE::tiny_llm::KERNEL(gate, up, y, {0, sizes[0]});
}
