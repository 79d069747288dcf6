// How Python calls a product with a vector whose scales are stored in any dtype.
extern "C" void ENTRY(
    const float* x, const std::uint32_t* words, const void* scales, const void* biases,
    float* y, const int* sizes) {
  namespace own = MISTAKE::tiny_llm;
  const auto multiply = [&]<class Scale>(Scale) {
    const own::QuantizedMatrix<Scale> w{
        words, static_cast<const Scale*>(scales), static_cast<const Scale*>(biases),
        sizes[0], sizes[1], sizes[2], sizes[3]};
    own::KERNEL(x, w, y, own::Rows{0, w.num_rows});
  };
  if (sizes[4] == 0) multiply(float{});
  if (sizes[4] == 1) multiply(own::Float16{});
  if (sizes[4] == 2) multiply(own::BFloat16{});
}
