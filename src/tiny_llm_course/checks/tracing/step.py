"""Run one step, in a process that is a copy of one that has imported what many need.

`checks.running` has multiprocessing's fork server run this file, which imports nothing
of the course before its reading is traced.
"""

import atexit
import gc
import os
import runpy
import sys
import tempfile
import types
from pathlib import Path


def run(
    arguments: list[str], root: str, output: str, environment: dict[str, str]
) -> None:
    """Run a step as if Python were started for it.

    Args:
        arguments: What would follow `python` on the command line.
        root: The folder that it runs in.
        output: A file for all that it prints.
        environment: Its environment.
    """
    gc.freeze()  # what is here to stay is not looked through again and again
    to = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(to, stream)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it is that of the environment
    os.chdir(root)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = environment["PYTHONPYCACHEPREFIX"]
    runpy.run_path(str(Path(__file__).with_name("sitecustomize.py")))
    kind, what, *rest = arguments
    try:
        if kind == "-m":
            sys.path.insert(0, root)
            sys.argv = [what, *rest]
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, "")
            sys.argv = [kind, *rest]
            sys.modules["__main__"] = main = types.ModuleType("__main__")
            exec(what, vars(main))  # noqa: S102 - it follows `python -c`
    finally:
        # A copy of a process ends without what it has registered, unless told.
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage]


run(**globals()["STEP"])
