"""Text generation with a solution, for `pdm run main` and `pdm run chat`."""
