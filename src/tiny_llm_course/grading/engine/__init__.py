"""Runs the tests of some days in a child process, which a solution may crash."""
