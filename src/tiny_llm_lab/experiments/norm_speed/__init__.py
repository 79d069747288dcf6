"""RMSNorm's speed compared with LayerNorm's, and others' claims about it."""
