"""Writes a library in C++ in which each record has its own copy of the reference.

The copy of a kernel and its headers stands in a namespace, with the record applied, in
plain C++: what is for one processor only is left out. So all wrong kernels of a day are
compiled at once, and each is really run.
"""

import functools
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.extension.programs import Program
from tiny_llm_course.extension.sources import include_path, sources_of
from tiny_llm_course.places import REFERENCE, ROOT
from tiny_llm_course.records.replacing import Replacement, replaced

ENTRIES = Path(__file__).parent / "entries"
WRITTEN = ROOT / ".cache" / "wrong_kernels"
OPTIONS = ("-std=c++20", "-O0", "-w", "-shared", "-fPIC", "-pthread")
"""A learner waits for the compiler, and inputs are small: 62 kernels take 4.5 s."""

_AT_HAND = """#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>
#include "kernels/threads.h"
"""
"""What the text of a record may use besides what its headers include."""

_INCLUDE = re.compile(r'^#include (?:"kernels/(.+)"|<.+>)\n', re.MULTILINE)
_COMMENT = re.compile(r"^ *//.*\n| +//.*$", re.MULTILINE)

_OF_ONE_PROCESSOR = re.compile(
    r"^#if defined\(__.*?(?:^#else\n(?P<others>.*?))?^#endif\n", re.M | re.DOTALL
)


@dataclass(frozen=True)
class Kernel:
    """Where a kernel stands, and how it is called.

    Attributes:
        entry: The file that calls it with what Python hands over.
        headers: What a record of it may change, in the order of their includes.
    """

    entry: str
    headers: tuple[str, ...]


@dataclass(frozen=True)
class WrongKernel:
    """A kernel with a record applied.

    Attributes:
        name: Of the record.
        function: The kernel.
        kernel: Where it stands.
        changes: What the record says.
    """

    name: str
    function: str
    kernel: Kernel
    changes: tuple[Replacement, ...]

    @property
    def entry(self) -> str:
        """The name of the function in C that runs it."""
        return f"{self.function}_{self.name}"


_NAIVE = Kernel("matvec_typed.h", ("numbers.h", "quantized_matrix.h", "matvec.h"))
_VECTOR = Kernel("matvec.h", ("quantized_matrix.h", "matvec.h"))
_ROUNDED = ("quantized_matrix.h", "int8.h", "matvec_int8.h")
_MATRIX = Kernel("matmul.h", ("quantized_matrix.h", "matmul.h"))
_PANELS = (
    *("quantized_matrix.h", "int8.h", "panel.h"),
    *("matmul_packing.h", "matmul_tiles.h", "matmul_tiles_narrow.h", "matmul_int8.h"),
)
_ATTENTION = Kernel("attention.h", ("heads.h", "collected.h", "attention.h"))
_PAGED = Kernel(
    "paged.h", ("pages_of_heads.h", "collected.h", "paged_pieces.h", "paged.h")
)
KERNELS = {
    "matvec_naive": _NAIVE,
    "matvec_blocked": _VECTOR,
    "matvec_simd": _VECTOR,
    "matvec_int8": Kernel("matvec_int8.h", _ROUNDED),
    "matvec_threaded": Kernel("matvec_threaded.h", _ROUNDED),
    "matmul_naive": _MATRIX,
    "matmul_blocked": _MATRIX,
    "pack_panel": Kernel("pack_panel.h", _PANELS),
    "matmul_int8": Kernel("matmul.h", _PANELS),
    "matmul_threaded": Kernel("matmul.h", _PANELS),
    "attention_online": _ATTENTION,
    "attention_tiled": _ATTENTION,
    "attention_split": _ATTENTION,
    "rms_norm": Kernel("rms_norm.h", ("fused.h",)),
    "add_rms_norm": Kernel("add_rms_norm.h", ("fused.h",)),
    "rope": Kernel("rope.h", ("fused.h",)),
    "swiglu": Kernel("swiglu.h", ("fused.h",)),
    "paged_attention_online": _PAGED,
    "paged_attention_tiled": _PAGED,
    "run_layer": Kernel("run_layer.h", ("layer.h",)),
}
SYMBOLS = frozenset(f"kernels.{name}" for name in KERNELS)
"""What a record may be about, and is changed in C++."""


def wrong_kernel(
    name: str, symbol: str, changes: tuple[Replacement, ...]
) -> WrongKernel:
    """Return the kernel that a record is about, with the record applied."""
    function = symbol.rpartition(".")[2]
    return WrongKernel(name, function, KERNELS[function], changes)


def library(files: str, wrong: Iterable[WrongKernel]) -> Path:
    """Compile the wrong kernels of a day, unless that has been done.

    Args:
        files: What the file of their records is called.
        wrong: All of them.
    """
    text = written(tuple(wrong))
    source = WRITTEN / f"{files}.cpp"
    if not source.exists() or source.read_text(encoding="utf-8") != text:
        WRITTEN.mkdir(parents=True, exist_ok=True)
        new = source.with_suffix(f".{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(source)  # at once, for those that read it at the same time
    program = Program(source, (*_folders(), ENTRIES), "records", OPTIONS)
    path = program.path()  # behind a fence nothing may be written, not even a lock
    return path if path.exists() else program.compiled()


def written(wrong: Sequence[WrongKernel]) -> str:
    """Return the text of the library."""
    parts = [_AT_HAND]
    for one in wrong:
        copied = one.kernel.headers
        parts += (_outer_includes(copied), _copy(one))
    return "".join(parts)


def _copy(one: WrongKernel) -> str:
    """Return a namespace with a changed kernel in it, and what calls it."""
    text = replaced(one.name, text_of(one.kernel.headers), one.changes)
    macros = {"MISTAKE": f"of_{one.entry}", "KERNEL": one.function, "ENTRY": one.entry}
    return (
        f"namespace of_{one.entry} {{\nusing namespace ::tiny_llm;\n{text}}}\n"
        + "".join(f"#define {name} {value}\n" for name, value in macros.items())
        + f'#include "{one.kernel.entry}"\n'
        + "".join(f"#undef {name}\n" for name in macros)
    )


@functools.cache
def text_of(headers: tuple[str, ...]) -> str:
    """Return the text of some headers, one after the other, without comments."""
    texts = (_read(name) for name in headers)
    bare = (_COMMENT.sub("", _INCLUDE.sub("", text)) for text in texts)
    plain = (_OF_ONE_PROCESSOR.sub(_for_others, text) for text in bare)
    return "".join(text.replace("#pragma once\n", "") for text in plain)


def _for_others(choice: re.Match[str]) -> str:
    """Return what a header has for processors without instructions of their own."""
    return choice["others"] or ""


@functools.cache
def _outer_includes(headers: tuple[str, ...]) -> str:
    """Return what some headers include besides each other."""
    found = (each for name in headers for each in _INCLUDE.finditer(_read(name)))
    outer = (each[0] for each in found if each[1] not in headers)
    return "".join(sorted(set(outer)))


def _read(name: str) -> str:
    paths = (folder / "kernels" / name for folder in _folders())
    return next(one for one in paths if one.exists()).read_text(encoding="utf-8")


def _folders() -> tuple[Path, Path]:
    """Return where headers are: those that kernels share, and the kernels."""
    found = sources_of(REFERENCE)
    assert found is not None
    return include_path(found)
