"""Finds out in how wide registers a compiled function computes, with objdump."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

OBJDUMP = shutil.which("objdump")

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
_PLACE = re.compile(r"(?:([0-9a-f]+) )?<([^>+@]+)(?:\+0x[0-9a-f]+)?>")
_JUMP = re.compile(r"j\w+|b(\..+)?|cbn?z|tbn?z")

_ON_X86 = r"v?(mul|fn?m(add|sub)\d*)p[sd]|v?p(madd|mul|dpb)\w+"
_ON_ARM = r"(f?mul|f?ml[as]|[su]ml?[ua]l[lp2]*|[su]dot)(\.\w+)?"
_PRODUCT = re.compile(f"{_ON_X86}|{_ON_ARM}")
_SINGLE = re.compile(
    r"v?(mul|add|fn?m(add|sub)\d*)s[sd]|imul\w?|f?madd|fmul|mul|fadd|[su]mull"
)
_WIDTHS = {
    512: re.compile(r"zmm"),
    256: re.compile(r"ymm"),
    128: re.compile(r"xmm|\.(16b|8h|4s|2d)\b"),
    64: re.compile(r"\.(8b|4h|2s)\b"),
}


@dataclass(frozen=True)
class Instruction:
    """A line of a disassembled function: its address, its name and the rest."""

    address: int
    name: str
    operands: str

    @property
    def loops_to(self) -> int | None:
        """Where it jumps back to. None if it does not."""
        place = _PLACE.search(self.operands)
        if not place or not place[1] or not _JUMP.fullmatch(self.name):
            return None
        target = int(place[1], 16)
        return target if target <= self.address else None

    @property
    def width(self) -> int:
        """The bits of the registers in which it multiplies several numbers, or 0."""
        if not _PRODUCT.fullmatch(self.name):
            return 0
        text = f"{self.name} {self.operands}"
        return next((bits for bits, seen in _WIDTHS.items() if seen.search(text)), 0)


def vector_bits(program: Path, function: str) -> int | None:
    """Return the width of the widest registers in which a function's loops multiply.

    Loops of functions that it calls are its own. 0 means that numbers are multiplied,
    or added, one by one; None that nobody can tell.

    Args:
        program: The compiled program.
        function: Its name, which C++ has not changed.
    """
    if OBJDUMP is None:
        return None
    command = [OBJDUMP, "-d", "--no-show-raw-insn", str(program)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    functions = parsed(ran.stdout)
    names = (function, f"_{function}")  # on a Mac
    if not (root := next((one for one in names if one in functions), None)):
        return None
    inner = [loop for one in _called(functions, root) for loop in loops(one)]
    return max((_width(loop) for loop in inner), default=0)


def parsed(disassembled: str) -> dict[str, list[Instruction]]:
    """Return the instructions of each function, from what objdump prints."""
    functions: dict[str, list[Instruction]] = {}
    for line in disassembled.splitlines():
        if begun := _FUNCTION.match(line):
            functions[begun[1]] = []
        elif (found := _LINE.match(line)) and functions:
            last = next(reversed(functions.values()))
            last.append(Instruction(int(found[1], 16), found[2], found[3]))
    return functions


def loops(function: Sequence[Instruction]) -> Iterator[Sequence[Instruction]]:
    """Yield the loops of a function that have no other loop inside."""
    places = {one.address: index for index, one in enumerate(function)}
    ends = [
        (places[one.loops_to], end)
        for end, one in enumerate(function)
        if one.loops_to in places
    ]
    for first, end in ends:
        if not any(first <= start and last < end for start, last in ends):
            yield function[first : end + 1]


def _called(
    functions: dict[str, list[Instruction]], root: str
) -> Iterator[Sequence[Instruction]]:
    """Yield a function and all that it mentions, directly or not."""
    seen, waiting = set[str](), [root]
    while waiting:
        name = waiting.pop()
        if name not in seen and name in functions:
            seen.add(name)
            yield functions[name]
            found = (_PLACE.search(one.operands) for one in functions[name])
            waiting += [place[2] for place in found if place]


def _width(loop: Sequence[Instruction]) -> int:
    """Return the width of a loop's products, or 0 if more is done number by number.

    A compiler may multiply four numbers at once and then add them one after the other,
    to keep the order of a sum.
    """
    widths = [one.width for one in loop]
    single = sum(not one.width and bool(_SINGLE.fullmatch(one.name)) for one in loop)
    return max(widths, default=0) if len(list(filter(None, widths))) >= single else 0
