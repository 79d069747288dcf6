#pragma once
// 8 x 8 matrices that the 32 lanes of a SIMD group hold together, two elements each
// (MSL 2.4, 6.7).
//
// Which two is not in the specification. They are what MLX's kernels count on, and what
// Apple's GPUs do: lane l holds two neighbours of row 4 * bit 4 + bits 2 and 1, from
// column 4 * bit 3 + 2 * bit 0 on.
//
// A product is summed in floats, one fused step for each of the eight, and rounded once
// at the end. Metal leaves the order open.
//
// All 32 lanes have to be there, and a matrix has no value before it is given one: both
// are undefined in Metal, and faults here.
#include "simdgroup.h"

namespace metal {

template <class T, int Columns, int Rows = Columns> struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "a simdgroup_matrix has 8 x 8 elements");
  static_assert(floating<T>, "a simdgroup_matrix has float, half or bfloat elements");

  simdgroup_matrix() = default;
  // The matrix with this value on its diagonal, and zeros.
  METAL_INLINE explicit simdgroup_matrix(T diagonal) {
    const uint lane = simulator::current().lane;
    for (uint i = 0; i < 2; ++i)
      held_.data[i] = row_of(lane) == column_of(lane) + i ? diagonal : static_cast<T>(0);
    has_value_ = true;
  }

  // The two elements of this lane. Who asks for them may be about to set them.
  vec<T, 2>& thread_elements() {
    has_value_ = true;
    return held_;
  }
  const vec<T, 2>& thread_elements() const { return held_; }

  // The same, for an operation that reads them.
  METAL_INLINE vec<T, 2> value(const char* function) const {
    if (!has_value_) simulator::fault("uninitialised_read", function);
    return held_;
  }

  static constexpr uint row_of(uint lane) { return (lane & 16) / 4 + (lane & 6) / 2; }
  static constexpr uint column_of(uint lane) { return (lane & 8) / 2 + (lane & 1) * 2; }
  static constexpr uint lane_of(uint row, uint column) {
    return (row & 4) * 4 + (row & 3) * 2 + (column & 4) * 2 + (column & 2) / 2;
  }

 private:
  vec<T, 2> held_;
  bool has_value_ = false;
};

// What all lanes hand to an operation on matrices.
template <class T> class gathered_by_all : public gathered<T> {
 public:
  METAL_INLINE gathered_by_all(const T& value, const char* function)
      : gathered<T>(value, function) {
    if (this->active() != 0xFFFFFFFF) simulator::fault("absent_lane", function);
  }
};

#define METAL_NAMES(T)                               \
  using simdgroup_##T##8x8 = simdgroup_matrix<T, 8, 8>;
METAL_NAMES(float)
METAL_NAMES(half)
METAL_NAMES(bfloat)
#undef METAL_NAMES

template <class T, int Columns, int Rows = Columns>
METAL_INLINE simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, Columns, Rows> result;
  result.thread_elements() = vec<T, 2>(value);
  return result;
}
template <class T, int Columns, int Rows = Columns>
METAL_INLINE simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, Columns, Rows>(value);
}

// Where an element lies in memory whose rows are `stride` elements apart.
METAL_INLINE ulong place_of(uint row, uint column, ulong stride, ulong2 origin,
                            bool transposed) {
  return transposed ? (origin.y + column) * stride + origin.x + row
                    : (origin.y + row) * stride + origin.x + column;
}

template <class T, class Source>
METAL_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8>& matrix, const Source* source,
                                 ulong elements_per_row = 8, ulong2 origin = ulong2(0),
                                 bool transpose_matrix = false) {
  static_assert(std::is_same_v<T, Source>, "a matrix is loaded from elements of its type");
  const gathered_by_all<bool> all(true, "simdgroup_load");
  const uint row = matrix.row_of(all.lane()), column = matrix.column_of(all.lane());
  for (uint i = 0; i < 2; ++i)
    matrix.thread_elements().data[i] =
        source[place_of(row, column + i, elements_per_row, origin, transpose_matrix)];
}

template <class T, class Target>
METAL_INLINE void simdgroup_store(simdgroup_matrix<T, 8, 8> matrix, Target* target,
                                  ulong elements_per_row = 8, ulong2 origin = ulong2(0),
                                  bool transpose_matrix = false) {
  static_assert(std::is_same_v<T, Target>, "a matrix is stored to elements of its type");
  const gathered_by_all<bool> all(true, "simdgroup_store");
  const uint row = matrix.row_of(all.lane()), column = matrix.column_of(all.lane());
  const vec<T, 2> value = matrix.value("simdgroup_store");
  for (uint i = 0; i < 2; ++i)
    target[place_of(row, column + i, elements_per_row, origin, transpose_matrix)] =
        value.data[i];
}

// d = a * b + c
template <class D, class A, class B, class C>
METAL_INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d,
                                                simdgroup_matrix<A, 8, 8> a,
                                                simdgroup_matrix<B, 8, 8> b,
                                                simdgroup_matrix<C, 8, 8> c) {
  constexpr const char* name = "simdgroup_multiply_accumulate";
  const gathered_by_all<vec<A, 2>> left(a.value(name), name);
  float row[8];
  for (uint k = 0; k < 8; ++k)
    row[k] = static_cast<float>(
        left.raw(a.lane_of(a.row_of(left.lane()), k)).data[k & 1]);
  const gathered_by_all<vec<B, 2>> right(b.value(name), name);
  const vec<C, 2> before = c.value(name);
  for (uint i = 0; i < 2; ++i) {
    auto sum = static_cast<float>(before.data[i]);
    for (uint k = 0; k < 8; ++k) {
      const uint lane = b.lane_of(k, b.column_of(right.lane()) + i);
      sum = std::fma(row[k], static_cast<float>(right.raw(lane).data[i]), sum);
    }
    d.thread_elements().data[i] = static_cast<D>(sum);
  }
}

// d = a * b
template <class D, class A, class B>
METAL_INLINE void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d,
                                     simdgroup_matrix<A, 8, 8> a,
                                     simdgroup_matrix<B, 8, 8> b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<float, 8>(0.0F));
}
template <class T>
METAL_INLINE simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a,
                                                 simdgroup_matrix<T, 8, 8> b) {
  simdgroup_matrix<T, 8, 8> result;
  simdgroup_multiply(result, a, b);
  return result;
}

}  // namespace metal
