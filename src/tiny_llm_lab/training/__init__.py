"""The training of the embedded model: `pdm run train-checkpoint`."""
