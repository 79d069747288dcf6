"""Serving a solution: its server with a page beside it, and an orderly end."""
