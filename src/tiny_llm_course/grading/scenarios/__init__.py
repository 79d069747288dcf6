"""Set-ups for the tests of single days: models, caches, texts in pieces."""
