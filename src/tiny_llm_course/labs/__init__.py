"""Experiments: training, ablations, timings, plots."""
