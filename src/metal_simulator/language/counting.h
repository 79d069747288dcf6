#pragma once
// Counts the operations of floats: what is put into the text of a kernel calls these.
#include "../runtime.h"
#include "vectors.h"

namespace metal {

// Nothing is counted that the compiler has calculated already.
template <unsigned Adds, unsigned Multiplies, unsigned Others>
METAL_INLINE constexpr void counted() {
  if (!std::is_constant_evaluated()) simulator::count_flops(Adds, Multiplies, Others);
}

// The same for each component of a result, if it is one of floats.
template <class R, unsigned Adds, unsigned Multiplies, unsigned Others>
METAL_INLINE constexpr void counted_as() {
  using V = std::remove_cvref_t<R>;
  constexpr unsigned width = width_of<V>;
  if constexpr (floating<component_t<V>>)
    counted<width * Adds, width * Multiplies, width * Others>();
}

}  // namespace metal
