"""Experiments, timings, mutation testing, and the training of the embedded model."""
