"""The expected results: computed by PyTorch in float64, on the same rounded inputs."""
