"""How a solution is called, and when what comes out is right."""
