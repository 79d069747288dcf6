"""The kernels in C++ of a solution: where they are, and how they are built."""
