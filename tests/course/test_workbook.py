"""The learner's files are edited one definition at a time; all else stays."""

from pathlib import Path

import pytest

from tiny_llm_course.editing import editing
from tiny_llm_course.editing.lookup import read
from tiny_llm_course.editing.python_code import PythonCode, PythonDefinition
from tiny_llm_course.editing.saving import Change, write, write_whole
from tiny_llm_course.editing.starter import generate
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.syllabus import tasks, tasks_of

STUBS = generate(REFERENCE)
SYMBOLS = list(dict.fromkeys(symbol for task in tasks() for symbol in task.symbols))

ANSWER = '''\
def area(radius: float) -> float:
    """Return the area of a circle."""
    return _checked(math.pi * radius**2)


def _checked(size: float) -> float:
    return size
'''
COURSE = f'''"""A file of the course."""

import math
from collections.abc import Callable

from .basics import linear, softmax

Size = Callable[[float], float]


{
    ANSWER.partition("""

def _""")[0]
}

def volume(size: Size) -> float:
    """Return a volume."""
    return _checked(size(linear(softmax(3))))


def _checked(size: float) -> float:
    return size
'''

BEFORE = '''# My notes\u2028 come\x0c first.
"""My own file."""

import math, sys  # one line will do
from .basics import softmax


'''
MINE = """@sys.intern
# twice the circle
def area(radius):
    return 2 * radius  # not yet
    # return math.pi * radius

    # really?
"""
AFTER = """

def my_own():
    return "\x0c\u2028"


COUNT=1;   OTHER = 2"""


def put(text: str, donor: str, name: str, others: frozenset[str]) -> str:
    parse = PythonCode.parse
    return editing.put(parse(text), parse(donor), name, others).text


def without_leftovers(text: str, reference: str, stub: str) -> str:
    parse = PythonCode.parse
    return editing.without_leftovers(parse(text), parse(reference), parse(stub)).text


def definition(text: str, name: str) -> PythonDefinition:
    (found,) = PythonCode.parse(text).named(name)
    return found


def answered(text: str, name: str = "area") -> str:
    """Put a definition of the course into a file."""
    return put(text, COURSE, name, frozenset({"area", "volume"} - {name}))


def test_a_definition_is_replaced_and_all_else_stays() -> None:
    """Decorators and comments inside belong to it; the code around it does not."""
    assert answered(BEFORE + MINE + AFTER) == BEFORE + ANSWER + AFTER


def test_line_ends_stay_what_they_are() -> None:
    old, new = (f"{BEFORE}{one}{AFTER}" for one in (MINE, ANSWER))

    assert answered(old.replace("\n", "\r\n")) == new.replace("\n", "\r\n")


def test_a_byte_order_mark_stays() -> None:
    """Some editors on Windows write one."""
    assert answered("\ufeff" + BEFORE + MINE) == "\ufeff" + BEFORE + ANSWER


def test_missing_imports_are_added_and_known_ones_are_not() -> None:
    text = answered(f"{BEFORE}def volume(): ...\n", "volume")

    imports = [line for line in text.splitlines() if "import" in line]
    assert imports == [
        "import math, sys  # one line will do",
        "from collections.abc import Callable",
        "from .basics import softmax",
        "from .basics import linear",
    ]


def test_a_file_without_imports_gets_them_below_its_docstring() -> None:
    text = answered('"""Mine."""\n\n\ndef area(): ...\n')

    assert text == f'"""Mine."""\nimport math\n\n\n{ANSWER}'


def test_an_import_below_a_definition_comes_too_late() -> None:
    text = answered("def area(): ...\n\n\nimport os\n")

    assert text == f"import math\n{ANSWER}\n\nimport os\n"


def test_what_a_signature_needs_comes_before_it() -> None:
    text = answered("def volume(): ...\n", "volume")

    compile(text, "mine.py", "exec")
    assert text.index("Size = ") < text.index("def volume") < text.index("def _checked")


def test_other_work_of_the_learner_is_not_brought_along() -> None:
    """Attention calls softmax: a learner who skips one still has to write the other."""
    course = "def area():\n    return volume()\n\n\ndef volume():\n    return 1\n"

    assert put("X = 1\n", course, "area", frozenset({"volume"})) == (
        "X = 1\n\n\ndef area():\n    return volume()\n"
    )


def test_a_helper_that_is_there_is_not_added_again() -> None:
    once = answered("import math\n\n\ndef area(): ...\n")

    assert answered(once) == once


def test_a_helper_of_the_learner_with_the_same_name_is_kept() -> None:
    """Others may call it, so ours gets another name."""
    theirs = "\n\ndef _checked(x):\n    return x > 0\n"

    text = answered(f"import math\n\n\ndef area(): ...\n{theirs}")

    assert text.endswith(theirs)
    assert "return _checked_of_reference(math.pi * radius**2)" in text
    assert "def _checked_of_reference(size: float)" in text


def test_a_helper_that_got_another_name_is_not_added_again() -> None:
    theirs = "\n\ndef _checked(x):\n    return x > 0\n"
    once = answered(f"import math\n\n\ndef area(): ...\n{theirs}")

    assert answered(once) == once


def test_a_helper_that_got_another_name_goes_with_the_answer() -> None:
    theirs = "\n\ndef _checked(x):\n    return x > 0\n"
    stub = f"import math\n\n\ndef area(): ...\n{theirs}"
    back = put(answered(stub), "def area(): ...\n", "area", frozenset())

    assert without_leftovers(back, COURSE, stub) == stub


def test_given_code_that_the_learner_has_changed_is_kept() -> None:
    theirs = "import math\n\nSize = int\n\n\ndef volume(): ...\n"

    assert "Size = int\n" in answered(theirs, "volume")
    assert "Callable[[float], float]" not in answered(theirs, "volume")


def test_of_several_definitions_the_one_that_counts_is_replaced() -> None:
    text = answered("import math\n\n\ndef area(): ...\n\n\narea = max\n")

    assert text == f"import math\n\n\ndef area(): ...\n\n\n{ANSWER}"


def test_a_name_that_is_defined_with_others_is_outweighed() -> None:
    """The statement stays, because of the other names."""
    theirs = "import math\n\n\ndef volume(): ...\n\n\narea, arc = 1, 2\n"

    assert answered(theirs) == f"{theirs}\n\n{ANSWER}"


@pytest.mark.parametrize("text", ["", "x = 1", "x = 1\n"])
def test_a_name_that_is_missing_is_added(text: str) -> None:
    text = answered(text)

    compile(text, "mine.py", "exec")
    assert text.endswith(f"\n\n{ANSWER}")


def test_a_name_that_is_missing_stands_above_what_may_need_it() -> None:
    theirs = "import math\n\n\n# the volume\ndef volume(): ...\n"

    assert answered(theirs) == theirs.replace(
        "# the volume", f"{ANSWER.rstrip()}\n\n\n# the volume"
    )


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_putting_the_solution_in_and_the_stub_back_changes_nothing(symbol: str) -> None:
    file, name = symbol.split(".")
    stub = STUBS[f"{file}.py"]
    reference = read(REFERENCE / f"{file}.py")
    others = frozenset(one.split(".")[1] for one in SYMBOLS) - {name}

    solved = put(stub, reference, name, others)

    assert solved != stub
    assert without_leftovers(put(solved, stub, name, others), reference, stub) == stub


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_a_generated_stub_is_recognised(symbol: str) -> None:
    """The address in it may be that of an earlier version."""
    file, name = symbol.split(".")
    text = STUBS[f"{file}.py"].replace(str(tasks_of(symbol)[0].address), "task 9")

    assert definition(text, name).is_stub


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    x = 1\n    todo('a')\n",
        "def f():\n    # my idea\n    todo('a')\n",
        "def f():\n    todo('a')\n    # my idea\n",
        "def f():\n    todo('a')  # my idea\n",
        "def f():\n    pass\n",
        "def f():\n    'Say what f does.'\n",
        "class f:\n    def a(self): todo('a')\n    def b(self): pass\n",
        "class f:\n    x = 1\n    def a(self): todo('a')\n",
        "class f:\n    pass\n",
        "f = todo\n",
    ],
)
def test_what_the_learner_has_touched_is_no_stub(text: str) -> None:
    """Not even if it is only a comment."""
    assert not definition(text, "f").is_stub


@pytest.mark.parametrize(
    "broken",
    [
        "def area(radius)\n    return 2\n",
        "@cache\ndef area(radius):\n    return (2\n",
        'class area:\n    """Never closed.\n\n    def a(self): ...\n',
        "def area(\n    radius,\n) -> float\n    return 2\n",
    ],
)
def test_a_definition_that_is_not_python_can_be_cut_out(broken: str) -> None:
    """Its lines are found by indentation, and the lines after it keep their numbers."""
    after = "\n# of my own\ndef my_own(): ...\n"

    text = PythonCode.emptied(f"import math\n\n\n{broken}{after}", "area")

    PythonCode.parse(text)
    assert text.endswith(after)
    assert text.count("\n") == f"import math\n\n\n{broken}{after}".count("\n")
    assert answered(text) == f"import math\n\n\n{ANSWER}{after}"


def test_a_definition_that_cannot_be_found_is_not_cut_out() -> None:
    assert PythonCode.emptied("clas area:\n", "area") == "clas area:\n"


def test_a_written_file_has_the_rights_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "basics.py"
    path.write_text("old")
    path.chmod(0o640)

    write_whole(path, "new")

    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    """A learner may keep the files elsewhere."""
    real, link = tmp_path / "real.py", tmp_path / "basics.py"
    real.write_text("old")
    link.symlink_to(real)

    write([Change(link, "new")], tmp_path / "copies")

    assert link.is_symlink()
    assert real.read_text() == "new"


def test_each_call_keeps_its_copies_in_a_folder_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "basics.py"
    path.write_text("0")

    folders = [
        write([Change(path, text)], tmp_path / "copies") for text in ("1", "2", "3")
    ]

    assert [(one / "basics.py").read_text() for one in folders if one] == [
        "0",
        "1",
        "2",
    ]
