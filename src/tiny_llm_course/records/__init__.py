"""Known solutions that are a replacement of text in the reference: one record each."""
