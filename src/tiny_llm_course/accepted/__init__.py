"""Other correct ways to write each task, which every test has to accept."""
