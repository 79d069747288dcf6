"""Finding and loading a model: the embedded one, a folder, a hub name.

A checkpoint is data. Nothing in it runs, whatever its files ask for (`safety.py`).
"""

from tiny_llm_course.checkpoint.errors import CheckpointError
from tiny_llm_course.checkpoint.loading import LoadedCheckpoint, SamplingDefaults, load
from tiny_llm_course.checkpoint.names import EMBEDDED, SHORTCUTS, resolve

__all__ = [
    "EMBEDDED",
    "SHORTCUTS",
    "CheckpointError",
    "LoadedCheckpoint",
    "SamplingDefaults",
    "load",
    "resolve",
]
