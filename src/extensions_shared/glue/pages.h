/// Memory that is read from one end to the other, and the pages that it stands in.
#pragma once

#include <mlx/array.h>

namespace tiny_llm {

/// Ask the system to keep an array in large pages, where there are any.
///
/// A processor finds out where each page lies before it can read it, and reads ahead up
/// to its end. A page of Linux has 4 KB unless it is asked for 2 MB. What the array holds
/// stays as it is, and where; on other systems, and to small arrays, nothing happens.
///
/// array: evaluated.
void prefer_large_pages(const mlx::core::array& array);

}  // namespace tiny_llm
