"""Experiments, timings, proofs of the tests, and the training of the embedded model."""

import tiny_llm_course as tiny_llm_course  # so that MLX, imported later, gets its BLAS
