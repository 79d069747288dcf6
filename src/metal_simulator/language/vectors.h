#pragma once
// The vectors of Metal: `float4` is `vec<float, 4>` (MSL 2.2).
//
// A vector is aligned to its size, three components to the size of four, and is copied
// in one piece, so that a load of a `float4` is one access of 16 bytes. Its components
// have the names x y z w, or r g b a, or a number.
//
// Several components at once are written `v.xy` in Metal. No C++ type can have such
// members and still be copied in one piece; the rewriting of the source therefore makes
// of a swizzle that is read `v.at<0, 1>()`, and of one that is written
// `v.part<0, 1>() = ...`.
#include "scalars.h"

namespace metal {

template <class T, int N> struct vec;

// A part of a vector that is assigned to.
template <class V, int... I> struct swizzle {
  using value = vec<typename V::component, sizeof...(I)>;
  V& of;

  METAL_INLINE void operator=(value right) {
    int next = 0;
    ((of[I] = right[next++]), ...);
  }
#define METAL_ASSIGNMENT(op)                                      \
  template <class R> METAL_INLINE void operator op##=(R right) {  \
    *this = of.template at<I...>() op right;                      \
  }
  METAL_ASSIGNMENT(+)
  METAL_ASSIGNMENT(-)
  METAL_ASSIGNMENT(*)
  METAL_ASSIGNMENT(/)
  METAL_ASSIGNMENT(%)
  METAL_ASSIGNMENT(&)
  METAL_ASSIGNMENT(|)
  METAL_ASSIGNMENT(^)
  METAL_ASSIGNMENT(<<)
  METAL_ASSIGNMENT(>>)
#undef METAL_ASSIGNMENT
};

// How many components something adds to a vector that is put together of it.
template <class T> inline constexpr int width_of = 1;
template <class T, int N> inline constexpr int width_of<vec<T, N>> = N;

// What all vectors have, whatever their width: `Self` is the vector itself.
#define METAL_VECTOR_MEMBERS(T, N)                                                 \
  using component = T;                                                             \
  vec() = default;                                                                 \
  template <scalar S>                                                              \
    requires std::is_convertible_v<S, T>                                           \
  METAL_INLINE constexpr vec(S value) {                                            \
    for (int i = 0; i < N; ++i) data[i] = static_cast<T>(value);                   \
  }                                                                                \
  template <scalar S>                                                              \
    requires(!std::is_convertible_v<S, T>)                                         \
  METAL_INLINE constexpr explicit vec(S value) {                                   \
    for (int i = 0; i < N; ++i) data[i] = static_cast<T>(value);                   \
  }                                                                                \
  template <class U>                                                               \
    requires(!std::is_same_v<T, U>)                                                \
  METAL_INLINE explicit vec(vec<U, N> other) {                                     \
    for (int i = 0; i < N; ++i) data[i] = static_cast<T>(other.data[i]);           \
  }                                                                                \
  template <class... Parts>                                                        \
    requires(sizeof...(Parts) > 1 && (width_of<Parts> + ...) == N)                 \
  METAL_INLINE constexpr vec(Parts... parts) {                                     \
    int next = 0;                                                                  \
    (put(next, parts), ...);                                                       \
  }                                                                                \
  template <class I> METAL_INLINE T& operator[](I i) { return data[i]; }           \
  template <class I> METAL_INLINE const T& operator[](I i) const {                 \
    return data[i];                                                                \
  }                                                                                \
  template <int... I> METAL_INLINE vec<T, sizeof...(I)> at() const {               \
    return vec<T, sizeof...(I)>(data[I]...);                                       \
  }                                                                                \
  template <int... I> METAL_INLINE swizzle<vec, I...> part() { return {*this}; }   \
                                                                                   \
 private:                                                                          \
  template <class P> METAL_INLINE constexpr void put(int& next, P value) {         \
    if constexpr (width_of<P> == 1) {                                              \
      data[next++] = static_cast<T>(value);                                        \
    } else {                                                                       \
      for (int i = 0; i < width_of<P>; ++i) data[next++] = static_cast<T>(value[i]); \
    }                                                                              \
  }                                                                                \
                                                                                   \
 public:

template <class T> struct alignas(2 * sizeof(T)) vec<T, 2> {
  union {
    T data[2];
    struct { T x, y; };
    struct { T r, g; };
  };
  METAL_VECTOR_MEMBERS(T, 2)
};

template <class T> struct alignas(4 * sizeof(T)) vec<T, 3> {
  union {
    T data[3];
    struct { T x, y, z; };
    struct { T r, g, b; };
  };
  METAL_VECTOR_MEMBERS(T, 3)
};

template <class T> struct alignas(4 * sizeof(T)) vec<T, 4> {
  union {
    T data[4];
    struct { T x, y, z, w; };
    struct { T r, g, b, a; };
  };
  METAL_VECTOR_MEMBERS(T, 4)
};
#undef METAL_VECTOR_MEMBERS

template <class T> inline constexpr bool is_vector = false;
template <class T, int N> inline constexpr bool is_vector<vec<T, N>> = true;

// The type of a vector's components; a scalar's is its own.
template <class T> struct component {
  using type = T;
};
template <class T, int N> struct component<vec<T, N>> {
  using type = T;
};
template <class T> using component_t = typename component<T>::type;

#define METAL_NAMES(T, name)     \
  using name##2 = vec<T, 2>;     \
  using name##3 = vec<T, 3>;     \
  using name##4 = vec<T, 4>;
METAL_NAMES(bool, bool)
METAL_NAMES(char, char)
METAL_NAMES(uchar, uchar)
METAL_NAMES(short, short)
METAL_NAMES(ushort, ushort)
METAL_NAMES(int, int)
METAL_NAMES(uint, uint)
METAL_NAMES(long, long)
METAL_NAMES(ulong, ulong)
METAL_NAMES(float, float)
METAL_NAMES(half, half)
METAL_NAMES(bfloat, bfloat)
#undef METAL_NAMES

}  // namespace metal
