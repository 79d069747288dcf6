"""What `pdm run lab`, `bench` and `train-checkpoint` do."""
