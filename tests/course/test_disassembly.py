"""How wide the registers are in which a compiled loop multiplies."""

import subprocess
from pathlib import Path

import pytest

from tiny_llm_course.extension import disassembly
from tiny_llm_course.extension.disassembly import Instruction, loops, parsed

LOOP = """
0000000000001000 <run_it>:
    1000:\txor    %eax,%eax
    1002:\tcall   1100 <_ZN4help>
    1008:\tret

0000000000001100 <_ZN4help>:
{body}
    1140:\tjne    1100 <_ZN4help>
    1142:\tret
"""

PACKED = "    1100:\tvfmadd231ps (%rdi),%zmm1,%zmm2"
SINGLE = "    1100:\tmulss  (%rdi),%xmm1\n    1104:\taddss  %xmm1,%xmm0"
IN_ORDER = "    1100:\tmulps  (%rdi),%xmm1\n" + "\n".join(
    f"    110{i}:\taddss  %xmm1,%xmm0" for i in range(4, 8)
)
ON_ARM = "    1100:\tfmla\tv0.4s, v1.4s, v2.4s"
ON_A_MAC = "    1100:\tfmla.4s\tv0, v1, v2"


@pytest.mark.parametrize(
    ("body", "bits"),
    [(PACKED, 512), (SINGLE, 0), (IN_ORDER, 0), (ON_ARM, 128), (ON_A_MAC, 128)],
    ids=["packed", "single", "in order", "arm", "mac"],
)
def test_width_of_a_loop_is_that_of_its_products(
    monkeypatch: pytest.MonkeyPatch, body: str, bits: int
) -> None:
    """Four products at once whose sum is added one by one are no faster."""
    said = subprocess.CompletedProcess([], 0, LOOP.format(body=body))
    monkeypatch.setattr(disassembly, "OBJDUMP", "objdump")
    monkeypatch.setattr(disassembly.subprocess, "run", lambda *_, **__: said)

    assert disassembly.vector_bits(Path("program"), "run_it") == bits
    assert disassembly.vector_bits(Path("program"), "run_that") is None


def test_only_innermost_loops_count() -> None:
    body = "    1100:\tmulss  %xmm1,%xmm0\n    1104:\tjne    1104 <_ZN4help+0x4>"
    (inner,) = loops(parsed(LOOP.format(body=body))["_ZN4help"])

    assert inner == [Instruction(0x1104, "jne", "1104 <_ZN4help+0x4>")]


def test_without_objdump_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disassembly, "OBJDUMP", None)

    assert disassembly.vector_bits(Path("program"), "run_it") is None
