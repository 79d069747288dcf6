"""Write down which files of the course this Python opens, and which folders it lists.

Python imports a module of this name when it starts. `checks.running` puts the folder on
the path of a step, and so of each Python that the step starts. What other programs read
is not traced: git, and a Python started without this module, count as reading
everything. Garbage is looked for less often in such a Python.
"""

import gc
import os
import sys
from typing import Any

ALL = "**"
NOTED_IN = "TINY_LLM_READS"
_UP = f"{__file__}/../../../../.."
_ROOTS = (f"{os.path.abspath(_UP)}/", f"{os.path.realpath(_UP)}/")  # noqa: PTH100


class _Trace:
    """Append names to a file, a line each: `a/file.py`, `a/folder/`, or `**` for all.

    Args:
        to: The file. The processes that this one starts append to it as well.
    """

    def __init__(self, to: str) -> None:
        self._to = to
        self._file = os.open(to, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._noted = set[str]()

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Take an audit event, as `sys.addaudithook` passes it."""
        match event, args:
            case "open", (path, _, flags):
                if not flags & os.O_WRONLY:
                    self._note_path(path)
            case ("os.link", (path, *_)) | ("import", (_, path, *_)):
                self._note_path(path)
            case "os.listdir" | "os.scandir", (path, *_):
                self._note_path(path or ".", "/")
            case "subprocess.Popen", (program, _, _, env):
                is_watched = env is None or dict(env).get(NOTED_IN) == self._to
                if not is_watched or os.path.basename(program) == "git":  # noqa: PTH119
                    self._note(ALL)
            case _:
                pass

    def _note_path(self, path: Any, end: str = "") -> None:  # noqa: ANN401 - what is opened
        if isinstance(path, str | bytes | os.PathLike):  # a file descriptor, not a path
            full = os.path.abspath(os.fsdecode(path)) + end  # noqa: PTH100
            full = full.removeprefix(sys.pycache_prefix or "")  # of bytecode
            root = next(filter(full.startswith, _ROOTS), None)
            if root and "/." not in full[len(root) - 1 :]:
                self._note(full[len(root) :])

    def _note(self, name: str) -> None:
        if name not in self._noted:
            self._noted.add(name)
            os.write(self._file, f"{name}\n".encode())


# What such a process imports is here to stay, and it ends before garbage matters.
gc.set_threshold(50_000, 20, 100)
# The server has been given the `-B` of a check whose author wants no bytecode in sight.
sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
if NOTED_IN in os.environ:
    sys.addaudithook(_Trace(os.environ[NOTED_IN]))
