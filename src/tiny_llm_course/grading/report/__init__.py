"""Reports of a run: for the learner, and for a teacher's programs."""
