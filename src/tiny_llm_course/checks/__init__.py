"""The steps of `pdm run check`, and a cache of those that have already passed."""
