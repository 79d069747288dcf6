"""The commands `pdm run lab`, `bench` and `train-checkpoint`."""
