"""Experiments, timings, proofs of the tests, and the training of the embedded model."""
