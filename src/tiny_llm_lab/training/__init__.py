"""How the embedded model came to be: `pdm run train-checkpoint`."""
