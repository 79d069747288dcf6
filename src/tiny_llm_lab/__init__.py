"""Experiments, timings, and the training of the embedded model."""
