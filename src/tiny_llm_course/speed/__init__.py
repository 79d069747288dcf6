"""How fast a solution's kernels are: beside ours, the plain loop and the machine."""
