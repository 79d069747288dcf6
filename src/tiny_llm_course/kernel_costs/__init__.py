"""What the kernels of a day on the GPU's track cost, beside what ours cost."""
