"""A proof that knows no records: a machine changes our solutions at one place."""
