#pragma once
// Operations on memory that no other thread can come between (MSL 2.6, 6.15).
//
// The threads of the simulator never run at the same moment, so an ordinary load and
// store is atomic. Each is announced to the simulator, and itself not instrumented.
// Metal knows one order: relaxed. It says nothing of other memory.
#include "../runtime.h"
#include "scalars.h"

namespace metal {

enum memory_order { memory_order_relaxed };

template <class T> struct atomic {
  static_assert(sizeof(T) == 4 || std::is_same_v<T, bool> || std::is_same_v<T, ulong>,
                "atomic<int>, <uint>, <float>, <bool> or <ulong>");
  T value;
};
using atomic_int = atomic<int>;
using atomic_uint = atomic<uint>;
using atomic_float = atomic<float>;
using atomic_bool = atomic<bool>;
using atomic_ulong = atomic<ulong>;

// Deduced from the object alone: an operand converts to its type.
template <class T> using operand = std::type_identity_t<T>;

template <class T>
[[gnu::noinline, gnu::no_sanitize("thread")]] T peek(const volatile atomic<T>* object) {
  return object->value;
}
template <class T>
[[gnu::noinline, gnu::no_sanitize("thread")]] void poke(volatile atomic<T>* object, T value) {
  object->value = value;
}

template <class T>
METAL_INLINE T atomic_load_explicit(const volatile atomic<T>* object, memory_order) {
  simulator::atomic_access(object, sizeof(T), false);
  return peek(object);
}
template <class T>
METAL_INLINE void atomic_store_explicit(volatile atomic<T>* object, operand<T> desired,
                                        memory_order) {
  simulator::atomic_access(object, sizeof(T), true);
  poke(object, desired);
}

// Put in something that is made of what was there; what was there is the result.
#define METAL_ATOMIC(name, ...)                                                     \
  template <class T>                                                                \
  METAL_INLINE T atomic_##name##_explicit(volatile atomic<T>* object, operand<T> y, \
                                          memory_order) {                           \
    simulator::atomic_update(object, sizeof(T));                                    \
    const T x = peek(object);                                                       \
    poke(object, static_cast<T>(__VA_ARGS__));                                      \
    return x;                                                                       \
  }
METAL_ATOMIC(exchange, y)
METAL_ATOMIC(fetch_add, x + y)
METAL_ATOMIC(fetch_sub, x - y)
METAL_ATOMIC(fetch_max, x < y ? y : x)
METAL_ATOMIC(fetch_min, y < x ? y : x)
METAL_ATOMIC(fetch_and, x& y)
METAL_ATOMIC(fetch_or, x | y)
METAL_ATOMIC(fetch_xor, x ^ y)
#undef METAL_ATOMIC

// Stores `desired` if `*expected` was there, else tells what was. "Weak": on a GPU it
// may fail without a reason, so it belongs into a loop.
template <class T>
METAL_INLINE bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* object,
                                                        T* expected, operand<T> desired,
                                                        memory_order, memory_order) {
  simulator::atomic_update(object, sizeof(T));
  const T found = peek(object);
  const bool equal = std::memcmp(&found, expected, sizeof(T)) == 0;
  if (equal) poke(object, desired);
  else *expected = found;
  return equal;
}

}  // namespace metal
