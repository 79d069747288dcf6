"""The learner's files, edited one definition at a time and never without a copy."""
