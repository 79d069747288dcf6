#pragma once
// Functions in which the 32 threads of a SIMD group hand values to each other, without
// memory between them (MSL 6.9.2).
//
// Each lane brings its value and sees those of the others. What a function does about
// lanes that are not there: sums and their like leave them out; to take the value of one
// is undefined in Metal, and the fault `absent_lane` here.
#include <cstdio>

#include "../runtime.h"
#include "common.h"

// What only reads the simulator's own memory need not be seen by it.
#define METAL_UNSEEN __attribute__((no_sanitize("thread", "bounds", "alignment")))

namespace metal {

// The values of all lanes, after everybody has come.
template <class T> class gathered {
 public:
  METAL_INLINE gathered(const T& value, const char* function)
      : lanes_(simulator::exchange(&value, sizeof(T), function)), function_(function) {}

  uint lane() const { return lanes_.lane; }
  ulong active() const { return lanes_.active; }
  METAL_UNSEEN bool has(uint lane) const {
    return lane < simulator::simdgroup_size && (lanes_.active >> lane & 1) != 0;
  }
  // The value of a lane whether it came or not.
  METAL_UNSEEN T raw(uint lane) const {
    T value;
    std::memcpy(static_cast<void*>(&value), lanes_.values + lane * sizeof(T), sizeof(T));
    return value;
  }
  METAL_INLINE T of(uint lane) const {
    if (!has(lane)) {
      char details[96];
      std::snprintf(details, sizeof(details), "%s: lane %u", function_, lane);
      simulator::fault("absent_lane", details);
    }
    return raw(lane);
  }

 private:
  simulator::Lanes lanes_;
  const char* function_;
};

// Combine the values of the lanes from `from` to `to` as a tree does: pairs first, then
// pairs of pairs. Metal leaves the order open; a sum of floats depends on it.
template <class T, class F> struct Combined {
  const gathered<T>& values;
  F combine;
  T result{};
  bool found = false;

  METAL_UNSEEN Combined over(uint from, uint to) const {
    Combined part{values, combine};
    if (to - from == 1) {
      part.found = values.has(from);
      if (part.found) part.result = values.raw(from);
      return part;
    }
    const uint middle = from + (to - from) / 2;
    const Combined left = over(from, middle), right = over(middle, to);
    part.found = left.found || right.found;
    part.result = !left.found    ? right.result
                  : !right.found ? left.result
                                 : static_cast<T>(combine(left.result, right.result));
    return part;
  }
};
template <class T, class F>
METAL_UNSEEN T combined(const gathered<T>& values, uint from, uint to, F f) {
  return Combined<T, F>{values, f}.over(from, to).result;
}

// The type that a reduction is done in: MLX makes those of bfloat of those of float.
template <class T>
using reduced_t = std::conditional_t<std::is_same_v<T, bfloat>, float, T>;

// Reductions: every lane gets the same. `quad_` is the same over four neighbours.
#define METAL_REDUCTION(name, ...)                                                  \
  template <class T> METAL_INLINE T simd_##name(T value) {                          \
    using R = reduced_t<T>;                                                         \
    const gathered<R> all(static_cast<R>(value), "simd_" #name);                    \
    return static_cast<T>(                                                          \
        combined(all, 0, 32, [](R x, R y) { return __VA_ARGS__; }));                \
  }                                                                                 \
  template <class T> METAL_INLINE T quad_##name(T value) {                          \
    using R = reduced_t<T>;                                                         \
    const gathered<R> all(static_cast<R>(value), "quad_" #name);                    \
    const uint first = all.lane() / 4 * 4;                                          \
    return static_cast<T>(                                                          \
        combined(all, first, first + 4, [](R x, R y) { return __VA_ARGS__; }));     \
  }
METAL_REDUCTION(sum, x + y)
METAL_REDUCTION(product, x* y)
METAL_REDUCTION(max, max(x, y))
METAL_REDUCTION(min, min(x, y))
METAL_REDUCTION(and, x& y)
METAL_REDUCTION(or, x | y)
METAL_REDUCTION(xor, x ^ y)
#undef METAL_REDUCTION

// Running sums and products: over the lanes below, and the lane itself if inclusive.
#define METAL_PREFIX(which, end, name, neutral, ...)                                \
  template <class T> METAL_INLINE T simd_prefix_##which##_##name(T value) {         \
    using R = reduced_t<T>;                                                         \
    const gathered<R> all(static_cast<R>(value), "simd_prefix_" #which "_" #name);  \
    R x = static_cast<R>(neutral);                                                  \
    for (uint lane = 0; lane < end; ++lane) {                                       \
      if (!all.has(lane)) continue;                                                 \
      const R y = all.raw(lane);                                                    \
      x = static_cast<R>(__VA_ARGS__);                                              \
    }                                                                               \
    return static_cast<T>(x);                                                       \
  }
METAL_PREFIX(inclusive, all.lane() + 1, sum, 0, x + y)
METAL_PREFIX(exclusive, all.lane(), sum, 0, x + y)
METAL_PREFIX(inclusive, all.lane() + 1, product, 1, x* y)
METAL_PREFIX(exclusive, all.lane(), product, 1, x* y)
#undef METAL_PREFIX

// Taking the value of another lane. What lies beyond the ends: `up` and `down` do not
// wrap, a lane whose neighbour would be outside keeps its own; `rotate` wraps.
#define METAL_SHUFFLE(name, ...)                                                    \
  template <class T> METAL_INLINE T simd_##name(T value, ushort by) {               \
    const gathered<T> all(value, "simd_" #name);                                    \
    const uint lane = all.lane();                                                   \
    return all.of(__VA_ARGS__);                                                     \
  }
METAL_SHUFFLE(shuffle, (void(lane), by))
METAL_SHUFFLE(broadcast, (void(lane), by))
METAL_SHUFFLE(shuffle_xor, lane ^ by)
METAL_SHUFFLE(shuffle_up, lane < by ? lane : lane - by)
METAL_SHUFFLE(shuffle_down, lane + by >= 32 ? lane : lane + by)
METAL_SHUFFLE(shuffle_rotate_up, (lane + 32u - by % 32u) % 32u)
METAL_SHUFFLE(shuffle_rotate_down, (lane + by) % 32u)
#undef METAL_SHUFFLE

#define METAL_QUAD_SHUFFLE(name, ...)                                               \
  template <class T> METAL_INLINE T quad_##name(T value, ushort by) {               \
    const gathered<T> all(value, "quad_" #name);                                    \
    const uint first = all.lane() / 4 * 4, lane = all.lane() % 4;                   \
    return all.of(first + (__VA_ARGS__));                                           \
  }
METAL_QUAD_SHUFFLE(shuffle, (void(lane), by))
METAL_QUAD_SHUFFLE(broadcast, (void(lane), by))
METAL_QUAD_SHUFFLE(shuffle_xor, lane ^ by)
METAL_QUAD_SHUFFLE(shuffle_up, lane < by ? lane : lane - by)
METAL_QUAD_SHUFFLE(shuffle_down, lane + by >= 4 ? lane : lane + by)
#undef METAL_QUAD_SHUFFLE

// Like `up` and `down`, but what would come from beyond the ends of a group of `modulo`
// lanes comes from the other end of the group's `filling` values.
#define METAL_FILL(name, beyond, neighbour)                                         \
  template <class T>                                                                \
  METAL_INLINE T simd_##name(T value, T filling, ushort by, ushort modulo = 32) {   \
    struct Both { T value, filling; };                                              \
    const gathered<Both> all(Both{value, filling}, "simd_" #name);                  \
    const uint first = all.lane() / modulo * modulo, lane = all.lane() % modulo;    \
    const Both found = all.of(first + (neighbour) % modulo);                        \
    return (beyond) ? found.filling : found.value;                                  \
  }
METAL_FILL(shuffle_and_fill_up, lane < by, lane + modulo - by)
METAL_FILL(shuffle_and_fill_down, lane + by >= modulo, lane + by)
#undef METAL_FILL

// The value of the lowest lane that is there.
template <class T> METAL_INLINE T simd_broadcast_first(T value) {
  const gathered<T> all(value, "simd_broadcast_first");
  return all.of(static_cast<uint>(__builtin_ctzl(all.active())));
}
METAL_INLINE bool simd_is_first() {
  const gathered<bool> all(true, "simd_is_first");
  return all.lane() == static_cast<uint>(__builtin_ctzl(all.active()));
}

// What all lanes answered, one bit each.
class simd_vote {
 public:
  using vote_t = ulong;
  explicit constexpr simd_vote(vote_t votes, vote_t voters = 0xFFFFFFFFUL)
      : votes_(votes), voters_(voters) {}
  explicit constexpr operator vote_t() const { return votes_; }
  constexpr bool all() const { return votes_ == voters_; }
  constexpr bool any() const { return votes_ != 0; }

 private:
  vote_t votes_, voters_;
};
METAL_INLINE simd_vote simd_ballot(bool answer) {
  const gathered<bool> all(answer, "simd_ballot");
  ulong votes = 0;
  for (uint lane = 0; lane < 32; ++lane)
    if (all.has(lane) && all.raw(lane)) votes |= 1UL << lane;
  return simd_vote(votes, all.active());
}
METAL_INLINE bool simd_all(bool answer) { return simd_ballot(answer).all(); }
METAL_INLINE bool simd_any(bool answer) { return simd_ballot(answer).any(); }
METAL_INLINE simd_vote simd_active_threads_mask() { return simd_ballot(true); }

}  // namespace metal
