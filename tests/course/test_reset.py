"""`pdm run reset`: start over without losing anything."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tiny_llm_course.places import Checkout

Run = Callable[[str], Result]

MINE = '''"""My norm."""

import mlx.core as mx

EPS = 1e-6


def squared(x):
    return x * x


class RMSNorm:
    def __init__(self, dim, weight, eps=EPS):
        self.weight = weight

    def __call__(self, x):
        return x / mx.sqrt(squared(x).mean() + EPS)
        # what about the weight?


def mine():
    """Keep me."""
'''


@pytest.fixture
def norm(checkout: Checkout) -> Path:
    """Return the file of a learner who has worked on the norm."""
    path = checkout.starter / "layer_norm.py"
    path.write_text(MINE)
    return path


def stub_of(checkout: Checkout, name: str) -> str:
    """Return the text of a file as generated."""
    return (checkout.starter / name).read_text()


def only_copy(checkout: Checkout) -> Path:
    (folder,) = checkout.copies.iterdir()
    (copy,) = folder.iterdir()
    return copy


def test_the_stub_comes_back_and_all_else_stays(
    pdm_run: Run, checkout: Checkout
) -> None:
    stub = stub_of(checkout, "layer_norm.py")
    path = checkout.starter / "layer_norm.py"
    path.write_text(MINE)

    pdm_run("reset --week 1 --day 4 --task 1")

    before, _, rest = MINE.partition("class RMSNorm")
    _, _, after = rest.partition("weight?\n")
    before = before.replace(
        "import mlx.core as mx\n",
        "import mlx.core as mx\n"
        "from jaxtyping import Float\n"
        "\n"
        "from tiny_llm_course import todo\n",
    )
    assert path.read_text() == before + stub[stub.index("class RMSNorm") :] + after


def test_it_says_what_it_did_and_where_the_copy_is(
    pdm_run: Run, checkout: Checkout, norm: Path
) -> None:
    result = pdm_run("reset --week 1 --day 4 --task 1")

    copy = only_copy(checkout)
    line = norm.read_text().splitlines().index("class RMSNorm:") + 1
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        f"src/tiny_llm/layer_norm.py:{line}  RMSNorm is a stub again\n"
        f"The previous versions are in {copy.parent.relative_to(checkout.root)}\n"
    )
    assert copy.name == "layer_norm.py"
    assert copy.read_text() == MINE


def test_a_day_is_reset_as_a_whole(pdm_run: Run, checkout: Checkout) -> None:
    files = ["basics.py", "layer_norm.py", "qwen2_week1.py"]
    stubs = {name: stub_of(checkout, name) for name in files}
    for name in files:
        shutil.copy(checkout.reference / name, checkout.starter)

    result = pdm_run("reset --week 1 --day 4")

    names = ["RMSNorm", "silu", "Qwen2MLP"]
    said = result.stdout.splitlines()
    assert [line.split()[1] for line in said[:-1]] == names
    copies = {path.name for path in checkout.copies.glob("*/*")}
    assert copies == set(files)
    assert stub_of(checkout, "layer_norm.py") == stubs["layer_norm.py"]
    text = stub_of(checkout, "qwen2_week1.py")
    assert text.count("todo(") == 2
    assert "def _load_block(" in text


def test_of_a_day_only_what_was_touched_is_named(pdm_run: Run, norm: Path) -> None:
    assert norm.exists()

    said = pdm_run("reset --week 1 --day 4").stdout

    assert "RMSNorm" in said
    assert "silu" not in said


def test_a_symbol_of_several_tasks_is_reset_as_a_whole(
    pdm_run: Run, checkout: Checkout
) -> None:
    shutil.copy(checkout.reference / "positional_encoding.py", checkout.starter)

    result = pdm_run("reset --week 1 --day 2 --task 2")

    assert result.stdout.splitlines()[:2] == [
        "src/tiny_llm/positional_encoding.py:9  RoPE is a stub again",
        "RoPE also belongs to week 1, day 2, task 1 (RoPE with neighbouring pairs "
        "(traditional)), which starts again, too",
    ]


def test_nothing_is_said_of_tasks_that_were_asked_for(
    pdm_run: Run, checkout: Checkout
) -> None:
    shutil.copy(checkout.reference / "positional_encoding.py", checkout.starter)

    assert "as well" not in pdm_run("reset --week 1 --day 2").stdout


def test_a_stub_needs_no_reset(pdm_run: Run, checkout: Checkout) -> None:
    result = pdm_run("reset --week 1 --day 4")

    assert result.stdout == "Nothing to reset: all of it is still to be written.\n"
    assert result.exit_code == 0
    assert not checkout.copies.exists()


def test_a_file_that_is_gone_comes_back(
    pdm_run: Run, checkout: Checkout, norm: Path
) -> None:
    norm.unlink()

    result = pdm_run("reset --week 1 --day 4 --task 1")

    assert "class RMSNorm" in norm.read_text()
    assert result.stdout == "src/tiny_llm/layer_norm.py:9  RMSNorm is a stub again\n"
    assert not checkout.copies.exists()


def test_a_definition_that_is_not_python_can_be_reset(pdm_run: Run, norm: Path) -> None:
    """A learner whose file is broken can start over."""
    norm.write_text(MINE.replace("def __call__(self, x):", "def __call__(self, x:"))

    result = pdm_run("reset --week 1 --day 4 --task 1")

    assert result.exit_code == 0
    compile(norm.read_text(), "layer_norm.py", "exec")
    assert "def mine():" in norm.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINE.replace("def mine():", "def mine(:"),
            "src/tiny_llm/layer_norm.py:21 is not Python (invalid syntax); fix it",
        ),
        (
            MINE.replace("class RMSNorm:", "clas RMSNorm:"),
            "src/tiny_llm/layer_norm.py:12 is not Python (invalid syntax); fix it",
        ),
        (MINE + "'\udce9'", "src/tiny_llm/layer_norm.py is not Python ('utf-8' codec"),
        (MINE + "\x00", "src/tiny_llm/layer_norm.py"),
    ],
)
def test_a_mistake_elsewhere_in_the_file_has_to_be_mended_first(
    pdm_run: Run, checkout: Checkout, norm: Path, text: str, message: str
) -> None:
    norm.write_text(text, encoding="utf-8", errors="surrogateescape")
    before = norm.read_bytes()

    result = pdm_run("reset --week 1 --day 4")

    assert result.stderr.startswith(f"reset: {message}")
    assert result.stderr.count("\n") == 1
    assert (result.exit_code, result.stdout) == (2, "")
    assert norm.read_bytes() == before
    assert not checkout.copies.exists()


@pytest.mark.parametrize("options", ["", "--week 1"])
def test_it_does_not_reset_more_than_a_day(pdm_run: Run, options: str) -> None:
    result = pdm_run(f"reset {options}")

    assert result.exit_code == 2
    assert result.stderr == (
        "reset: expected --week and --day; the rest of your work is worth keeping\n"
    )
