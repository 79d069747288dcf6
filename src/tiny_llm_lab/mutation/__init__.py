"""Mutation testing: our solutions, changed automatically, have to fail a test."""
