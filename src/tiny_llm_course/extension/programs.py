"""C++ programs that are compiled once and cached.

They lie in `.cache/programs` of the checkout, named by a digest of all they are made
from, and may be removed.
"""

import fcntl
import functools
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[3] / ".cache" / "programs"
"""In the checkout of this file, also when working on a copy."""

COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)


@dataclass(frozen=True)
class Program:
    """A program, and how it is compiled.

    Attributes:
        source: Its file.
        headers: Folders of files that it includes.
        kind: What it is compiled for, in a word that can be part of a file name.
        options: Compiler options.
        compiler: The program itself.
    """

    source: Path
    headers: tuple[Path, ...]
    kind: str
    options: tuple[str, ...]
    compiler: str = str(COMPILER)

    def path(self) -> Path:
        """Return the path of the compiled program, which may not exist yet."""
        parts = [_version_of(self.compiler), *self.options]
        parts += [path.read_text(encoding="utf-8") for path in self._files()]
        key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        return CACHE / f"{self.source.stem}-{self.kind}-{key}"

    def compiled(self) -> Path:
        """Compile it, unless that has been done. Processes share it.

        Raises:
            subprocess.CalledProcessError: The compiler finds an error.
        """
        path = self.path()
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / f"{self.source.stem}-{self.kind}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a process that waited finds it compiled
            if not path.exists():
                for older in CACHE.glob(f"{self.source.stem}-{self.kind}-*"):
                    older.unlink(missing_ok=True)
                self._compile(path)
        return path

    def _compile(self, path: Path) -> None:
        """Run the compiler. The program appears atomically."""
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            made = Path(folder) / "program"
            includes = [f"-I{one}" for one in self.headers]
            arguments = [*self.options, *includes, str(self.source), "-o", str(made)]
            ran = subprocess.run(
                [self.compiler, *arguments],
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            try:
                ran.check_returncode()
            except subprocess.CalledProcessError as error:
                error.add_note(ran.stderr)
                raise
            made.replace(path)

    def _files(self) -> Iterator[Path]:
        """Yield its source and all our files that it includes, directly or not."""
        seen: set[Path] = set()
        waiting = [self.source]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            yield path
            text = path.read_text(encoding="utf-8")
            names = re.findall(r'^#include "(.+)"', text, re.MULTILINE)
            found = (folder / name for name in names for folder in self.headers)
            waiting += [one for one in found if one.exists()]


@functools.cache
def _version_of(compiler: str) -> str:
    said = [compiler, "--version"]
    return subprocess.run(said, capture_output=True, text=True, check=True).stdout
