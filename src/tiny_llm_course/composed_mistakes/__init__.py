"""Mistakes that nobody has written down: one change to the reference's own text.

A place (an argument, an operand, an axis, a statement) and a kind (left out, exchanged,
twice, another one) make a mistake, and the sentence that explains it.
"""
