"""Your inference engine. Each file has stubs for you to fill in, task by task."""
