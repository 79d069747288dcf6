"""What the tests of single days call: models, caches, texts that come in pieces."""
