// How Python calls the rotation. The table is larger than a right one needs.
extern "C" void ENTRY(const float* x, const double* base, float* y, const int* sizes) {
  namespace own = MISTAKE::tiny_llm;
  const int B = sizes[0];
  const own::RotatedHeads heads{sizes[1], sizes[2], sizes[3], sizes[4]};
  const int positions = heads.offset + B * heads.L + heads.H + 1;
  const auto size = static_cast<std::size_t>(positions) * (heads.D / 2);
  std::vector<float> cosines(size), sines(size);
  own::fill_rotations(*base, heads.D, {0, positions}, cosines.data(), sines.data());
  own::KERNEL(x, cosines.data(), sines.data(), heads, y, {0, B * heads.L});
}
