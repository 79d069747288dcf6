"""One file per `pdm run` command: each parses and prints, the work is elsewhere."""
