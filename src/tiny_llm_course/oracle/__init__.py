"""The truth: what PyTorch says, in float64, on the same rounded inputs."""
