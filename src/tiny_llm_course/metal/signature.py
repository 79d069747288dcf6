"""The function that MLX makes of a kernel's body, and the C++ file that holds it.

MLX builds the head of a custom kernel from the names and dtypes of its arrays and from
the words that its source uses. `assemble` does the same, so that a body sees here what
it sees there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.metal.arguments import (
    Buffer,
    Kind,
    attributes,
    input_buffers,
    output_buffers,
    type_name,
)
from tiny_llm_course.metal.rewriting import members_like_swizzles, to_cpp
from tiny_llm_course.metal.shared_variables import shared_variables

SOURCE_FILE = "kernel.metal"
HEADER_FILE = "header.metal"


@dataclass(frozen=True)
class Definition:
    """A kernel as it is written: what stays the same from call to call."""

    name: str
    input_names: Sequence[str]
    output_names: Sequence[str]
    source: str
    header: str = ""
    atomic_outputs: bool = False


@dataclass(frozen=True)
class Assembled:
    """A kernel for arrays of certain kinds.

    Args:
        kernel: What it is made of.
        buffers: The memory that it is called with, in order.
        arguments: The list in the kernel's head.
        given: What its template is given, as declarations: `using T = float;`.
        head: The kernel's head, up to the brace that opens its body.
        entry: The function that the simulator calls.
    """

    kernel: Definition
    buffers: tuple[Buffer, ...]
    arguments: str
    given: tuple[str, ...]
    head: str
    entry: str

    @property
    def metal(self) -> str:
        """The kernel as Metal, as MLX would hand it to Apple's compiler."""
        return f"{self.kernel.header}\n{self.head}\n{self.kernel.source}\n}}\n"

    @property
    def text(self) -> str:
        """The C++ file of the kernel.

        It exports `tiny_metal_kernel(void* const* buffers)`, which runs the thread that
        `simulator::current()` names.
        """
        return self.text_of(self.kernel.header, self.kernel.source)

    def text_of(self, header: str, source: str) -> str:
        """Return the C++ file with another header and body."""
        num_variables = sum(map(len, shared_variables(header)))
        members = members_like_swizzles(f"{header}\n{source}")
        body = to_cpp(
            source, is_body=True, first_variable=num_variables, members=members
        )
        return "\n".join(
            [
                "#include <metal_stdlib>",
                f'#line 1 "{HEADER_FILE}"',
                to_cpp(header, members=members),
                '#line 1 "signature.metal"',
                self.head,
                f'#line 1 "{SOURCE_FILE}"',
                body,
                "}",
                '#line 1 "entry.metal"',
                self.entry,
            ]
        )


Template = Sequence[tuple[str, mx.Dtype | int | bool]]


def assemble(
    kernel: Definition,
    inputs: Sequence[Kind],
    output_dtypes: Sequence[mx.Dtype],
    template: Template = (),
) -> Assembled:
    """Put a kernel together for arrays of these kinds."""
    if not _function(kernel).isidentifier():
        raise ValueError(say("metal.misuse.name", name=kernel.name))
    for name, value in template:
        if not isinstance(value, mx.Dtype | int):  # pyright: ignore[reportUnnecessaryIsInstance] - a learner gives what they like
            told = {"name": name, "value": repr(value)}
            raise ValueError(say("metal.misuse.template", **told))
    outputs = output_buffers(
        kernel.output_names, output_dtypes, atomic=kernel.atomic_outputs
    )
    buffers = (*input_buffers(kernel.input_names, inputs, kernel.source), *outputs)
    arguments = _arguments(kernel, buffers)
    return Assembled(
        kernel=kernel,
        buffers=buffers,
        arguments=arguments,
        given=tuple(_declared(name, value) for name, value in template),
        head=_head(kernel, arguments, template),
        entry=_entry(kernel, buffers, template),
    )


def _arguments(kernel: Definition, buffers: Sequence[Buffer]) -> str:
    """Write the kernel's arguments: the buffers, then what it asks of its thread."""
    arguments = [buffer.declared() for buffer in buffers]
    arguments += [f"{type_} {name}" for name, type_, _ in attributes(kernel.source)]
    return ", ".join(arguments)


def _head(kernel: Definition, arguments: str, template: Template) -> str:
    """Write the kernel's head, up to the brace that opens its body."""
    parameters = [f"{_kind_of(value)} {name}" for name, value in template]
    first = f"template <{', '.join(parameters)}>\n" if parameters else ""
    return f"{first}[[kernel]] void {_function(kernel)}({arguments}) {{"


def _entry(kernel: Definition, buffers: Sequence[Buffer], template: Template) -> str:
    """Write the function that the simulator calls for each thread."""
    values = [buffer.unpacked(index) for index, buffer in enumerate(buffers)]
    values += [value for _, _, value in attributes(kernel.source)]
    given = f"<{', '.join(_value_of(value) for _, value in template)}>"
    return "\n".join(
        [
            'extern "C" void tiny_metal_kernel(void* const* buffers) {',
            "  [[maybe_unused]] const auto& thread_ = simulator::current();",
            f"  {_function(kernel)}{given if template else ''}({', '.join(values)});",
            "}",
            "",
        ]
    )


def _function(kernel: Definition) -> str:
    return f"custom_kernel_{kernel.name}"


def _kind_of(value: mx.Dtype | int | bool) -> str:
    if isinstance(value, bool):
        return "bool"
    return "int" if isinstance(value, int) else "typename"


def _value_of(value: mx.Dtype | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else type_name(value)


def _declared(name: str, value: mx.Dtype | int | bool) -> str:
    """Write what a parameter of the template stands for as a declaration."""
    if isinstance(value, int):
        return f"constexpr {_kind_of(value)} {name} = {_value_of(value)};"
    return f"using {name} = {_value_of(value)};"
