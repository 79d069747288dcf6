#pragma once
// Variables that all threads of a threadgroup share (MSL 4.4).
//
// The rewriting of the source makes of `threadgroup float part[256];`
//     auto& part = simulator::shared<float[256]>(0, "part");
// where 0 counts the variables of the source. All threads that come by get the same
// memory. It holds nothing yet: Metal has no initial values for it.
#include "../runtime.h"
#include "scalars.h"

#define threadgroup

namespace simulator {

template <class T> METAL_INLINE T& shared(unsigned variable, const char* name) {
  return *static_cast<T*>(threadgroup_memory(variable, name, sizeof(T), alignof(T)));
}

}  // namespace simulator
