"""Grading: how a solution is called, when it is right, and what its author reads."""
