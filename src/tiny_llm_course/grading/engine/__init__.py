"""Runs the tests of some days on a solution, in a process that it may end."""
