"""Letting a solution talk: the work behind `pdm run main` and `pdm run chat`."""
