"""The experiments of `pdm run lab`."""
