#pragma once
// What the threads of a group do together, for the check of the dialect: barriers, SIMD
// functions, matrices (MSL 6.9, 6.7) and atomic operations (MSL 6.15).
#include "functions.h"

namespace metal {

enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4 };
constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return static_cast<mem_flags>(static_cast<int>(a) | static_cast<int>(b));
}
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);

// Numbers that SIMD functions work on: of 32 bits at most. MLX adds bfloat, and lets
// those of 64 bits and truths be shuffled.
#define METAL_SMALL(D, name)                                            \
  METAL_FLOATS(D, name)                                                 \
  METAL_VECTORS_OF(D, name, char) METAL_VECTORS_OF(D, name, uchar)      \
  METAL_VECTORS_OF(D, name, short) METAL_VECTORS_OF(D, name, ushort)    \
  METAL_VECTORS_OF(D, name, int) METAL_VECTORS_OF(D, name, uint)        \
  D(name, bfloat)
#define METAL_WHOLE(D, name)                                            \
  METAL_VECTORS_OF(D, name, char) METAL_VECTORS_OF(D, name, uchar)      \
  METAL_VECTORS_OF(D, name, short) METAL_VECTORS_OF(D, name, ushort)    \
  METAL_VECTORS_OF(D, name, int) METAL_VECTORS_OF(D, name, uint)
#define METAL_BOTH(name, T) T simd_##name(T); T quad_##name(T);
METAL_SMALL(METAL_BOTH, sum) METAL_SMALL(METAL_BOTH, product)
METAL_SMALL(METAL_BOTH, max) METAL_SMALL(METAL_BOTH, min)
METAL_WHOLE(METAL_BOTH, and) METAL_WHOLE(METAL_BOTH, or) METAL_WHOLE(METAL_BOTH, xor)
METAL_SMALL(METAL_1, simd_prefix_inclusive_sum)
METAL_SMALL(METAL_1, simd_prefix_exclusive_sum)
METAL_SMALL(METAL_1, simd_prefix_inclusive_product)
METAL_SMALL(METAL_1, simd_prefix_exclusive_product)
METAL_SMALL(METAL_1, simd_broadcast_first)

#define METAL_SHUFFLE(name, T) T simd_##name(T, ushort);
#define METAL_WIDE(D, name) D(name, bool) D(name, long) D(name, ulong)
METAL_SMALL(METAL_SHUFFLE, broadcast)
METAL_SMALL(METAL_SHUFFLE, shuffle) METAL_WIDE(METAL_SHUFFLE, shuffle)
METAL_SMALL(METAL_SHUFFLE, shuffle_up) METAL_WIDE(METAL_SHUFFLE, shuffle_up)
METAL_SMALL(METAL_SHUFFLE, shuffle_down) METAL_WIDE(METAL_SHUFFLE, shuffle_down)
METAL_SMALL(METAL_SHUFFLE, shuffle_xor)
METAL_SMALL(METAL_SHUFFLE, shuffle_rotate_up) METAL_SMALL(METAL_SHUFFLE, shuffle_rotate_down)
#define METAL_FILL(name, T) T simd_##name(T, T, ushort); T simd_##name(T, T, ushort, ushort);
METAL_SMALL(METAL_FILL, shuffle_and_fill_up) METAL_WIDE(METAL_FILL, shuffle_and_fill_up)
METAL_SMALL(METAL_FILL, shuffle_and_fill_down)
#define METAL_QUAD(name, T) T quad_##name(T, ushort);
METAL_SMALL(METAL_QUAD, broadcast) METAL_SMALL(METAL_QUAD, shuffle)
METAL_SMALL(METAL_QUAD, shuffle_up) METAL_SMALL(METAL_QUAD, shuffle_down)
METAL_SMALL(METAL_QUAD, shuffle_xor)

struct simd_vote {
  typedef ulong vote_t;
  explicit constexpr simd_vote(vote_t);
  explicit constexpr operator vote_t() const;
  bool all() const;
  bool any() const;
};
simd_vote simd_ballot(bool);
simd_vote simd_active_threads_mask();
bool simd_all(bool);
bool simd_any(bool);
bool simd_is_first();

template <class T, int Columns, int Rows = Columns> struct simdgroup_matrix {
  static_assert(Columns == 8 && Rows == 8, "a simdgroup_matrix has 8 x 8 elements");
  static_assert(is_floating_point_v<T>, "a simdgroup_matrix has float, half or bfloat elements");
  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal);
  vec<T, 2>& thread_elements();
  const vec<T, 2>& thread_elements() const;
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int Columns, int Rows = Columns>
simdgroup_matrix<T, Columns, Rows> make_filled_simdgroup_matrix(T value);
template <class T, int Columns, int Rows = Columns>
simdgroup_matrix<T, Columns, Rows> make_diagonal_simdgroup_matrix(T value);

#define METAL_MEMORY(space)                                                         \
  template <class T>                                                                \
  void simdgroup_load(thread simdgroup_matrix<T, 8, 8>&, const space T*,            \
                      ulong elements_per_row = 8, ulong2 origin = 0,                \
                      bool transpose_matrix = false);                               \
  template <class T>                                                                \
  void simdgroup_store(thread simdgroup_matrix<T, 8, 8>, space T*,                  \
                       ulong elements_per_row = 8, ulong2 origin = 0,               \
                       bool transpose_matrix = false);
METAL_MEMORY(device)
METAL_MEMORY(threadgroup)

template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8>&,
                                   simdgroup_matrix<A, 8, 8>, simdgroup_matrix<B, 8, 8>,
                                   simdgroup_matrix<C, 8, 8>);
template <class D, class A, class B>
void simdgroup_multiply(thread simdgroup_matrix<D, 8, 8>&, simdgroup_matrix<A, 8, 8>,
                        simdgroup_matrix<B, 8, 8>);
template <class T>
simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8>, simdgroup_matrix<T, 8, 8>);

enum memory_order { memory_order_relaxed };

template <class T> struct atomic {
  atomic(const atomic&) = delete;
  void operator=(const atomic&) = delete;

 private:
  T value;
};
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<float> atomic_float;
typedef atomic<bool> atomic_bool;
typedef atomic<ulong> atomic_ulong;

template <class T> struct same { typedef T type; };
template <class T> using operand = typename same<T>::type;
// Floats can be added, and no more; the other operations are those of whole numbers.
template <class T> struct whole_only {};
template <> struct whole_only<int> { typedef int type; };
template <> struct whole_only<uint> { typedef uint type; };
template <class T> struct number_only : whole_only<T> {};
template <> struct number_only<float> { typedef float type; };
#define METAL_ATOMIC(space, name, only)                                             \
  template <class T>                                                                \
  typename only<T>::type atomic_##name##_explicit(volatile space atomic<T>*,        \
                                                  operand<T>, memory_order);
#define METAL_ATOMICS(space)                                                        \
  template <class T> T atomic_load_explicit(const volatile space atomic<T>*, memory_order); \
  template <class T>                                                                \
  void atomic_store_explicit(volatile space atomic<T>*, operand<T>, memory_order);  \
  METAL_ATOMIC(space, exchange, same)                                               \
  METAL_ATOMIC(space, fetch_add, number_only)                                       \
  METAL_ATOMIC(space, fetch_sub, number_only)                                       \
  METAL_ATOMIC(space, fetch_max, whole_only)                                        \
  METAL_ATOMIC(space, fetch_min, whole_only)                                        \
  METAL_ATOMIC(space, fetch_and, whole_only)                                        \
  METAL_ATOMIC(space, fetch_or, whole_only)                                         \
  METAL_ATOMIC(space, fetch_xor, whole_only)                                        \
  template <class T>                                                                \
  bool atomic_compare_exchange_weak_explicit(volatile space atomic<T>*, thread T*,  \
                                             operand<T>, memory_order, memory_order);
METAL_ATOMICS(device)
METAL_ATOMICS(threadgroup)

}  // namespace metal
