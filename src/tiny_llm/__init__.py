"""Your inference engine: stubs for you to fill in, task by task."""
