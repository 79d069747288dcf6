#pragma once
// Metal's own words of declarations, which C++ need not know (MSL 4, 5.1).
//
// An address space says which memory a pointer points into. Here all of it is ordinary
// memory, so these words mean nothing; that pointers of different address spaces do not
// convert is looked after by the check of the dialect. This header comes last: no
// standard header survives a `thread` or `constant` that is empty.
#define __METAL__
#define __METAL_VERSION__ 310  // the first with bfloat, and without lambdas yet
#define device
#define constant
#define thread
#define ray_data
#define object_data
#define kernel
#define METAL_FUNC inline __attribute__((always_inline))
