"""Which mistake a wrong result comes from, and how it shows where none is known."""
