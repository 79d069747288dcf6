"""Times the course's models next to other libraries: `pdm run bench`.

Each engine (`engines.py`) runs in a process of its own (`worker.py`), which takes steps
on request, so that measurements are interleaved (`interleaved.py`). `results.py`
compares them with what the machine can do (`machine.py`).
"""
