"""How the book is made: what its Sphinx configuration adds to Sphinx.

The chapters lie in `book/en`, beside the folders of other languages.
"""
