"""How fast RMSNorm is beside LayerNorm, and what others say about it."""
