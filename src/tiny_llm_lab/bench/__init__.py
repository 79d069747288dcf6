"""How fast the course's models are, next to others: `pdm run bench`.

Each engine (`engines.py`) runs in a process of its own (`worker.py`), which takes a
step when it is told to (`taking_turns.py`), so that all are measured in turns. What
came out is set against what the machine can do (`machine.py`) in `results.py`.
"""
