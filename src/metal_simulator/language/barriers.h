#pragma once
// Barriers: no thread of a group goes on before all have come (MSL 6.9.1).
//
// The flags say which memory is then seen alike by all: writes of the others to memory
// that no flag names may still be on their way.
#include "../runtime.h"
#include "scalars.h"

namespace metal {

enum class mem_flags : unsigned {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) {
  return static_cast<mem_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

METAL_INLINE void threadgroup_barrier(mem_flags flags) {
  simulator::threadgroup_barrier(static_cast<unsigned>(flags));
}
METAL_INLINE void simdgroup_barrier(mem_flags flags) {
  simulator::simdgroup_barrier(static_cast<unsigned>(flags));
}

}  // namespace metal
