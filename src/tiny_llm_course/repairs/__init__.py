"""Small changes to a learner's own text, of which one may make it right."""
