"""One file per `pdm run` command. It parses and prints; other packages do the work."""
