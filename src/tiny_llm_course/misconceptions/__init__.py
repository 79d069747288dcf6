"""The wrong solutions that learners write, each with the sentence that explains it."""
