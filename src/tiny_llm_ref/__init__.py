"""The solutions: the same files and names as the learner's `tiny_llm`."""
