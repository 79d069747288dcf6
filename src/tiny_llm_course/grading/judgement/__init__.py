"""Calls a solution, and decides whether its output is right."""
