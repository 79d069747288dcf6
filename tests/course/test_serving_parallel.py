"""`pdm run serve --processes 2`: with real processes, over real sockets."""

import re
import signal
import subprocess
import sys
import time

import httpx
import pytest

from tiny_llm_course.errors import CourseError
from tiny_llm_course.serving.starting import Settings, chosen, start

SERVE = "from tiny_llm_course.commands.serve import command; command()"
PROMPTS = ["Once upon a time", "A fox", "The"]
KINDLY, FAILS, DIES, STAYS_IN_A_SUM, STAYS = range(5)
"""What a process does that is told to compute one of these tokens."""

FOLLOWER = """
import os, sys
from types import SimpleNamespace
from tiny_llm_course.serving import following

def split_model(model, rank, size, all_sum):
    model.all_sum = all_sum

def run(model, pieces, caches, logits_to_keep):
    if pieces == [[1]]:
        raise ValueError("two\\nlines")
    if pieces == [[2]]:
        os.kill(os.getpid(), 9)
    for _ in range(2 if pieces == [[3]] else 1):
        following.mx.eval(model.all_sum(following.mx.ones(3)))

class Solution:
    def get(self, symbol):
        return split_model if symbol.endswith("split_model") else lambda *_: None

model = SimpleNamespace(num_hidden_layers=1)
following.chosen = lambda _: (Solution(), None)
following.model_of = lambda *_: (model, run)
sys.exit(following.main())
"""

LEADER = """
import sys, time
from types import SimpleNamespace
import mlx.core as mx
from tiny_llm_course.serving.ranks import Ranks, RankError
from tiny_llm_course.serving.starting import Settings

follower, token, ready_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

def split_model(model, rank, size, all_sum):
    model.all_sum = all_sum

def run(model, pieces, caches, logits_to_keep):
    y = model.all_sum(mx.ones(3))
    mx.eval(y)
    return y

ranks = Ranks(Settings(processes=2), (sys.executable, "-c", follower), ready_s)
model = SimpleNamespace()
try:
    run = ranks.split(SimpleNamespace(get=lambda _: split_model), model, run)
except RankError as error:
    ranks.close()
    sys.exit(f"{error}")
cache = [SimpleNamespace(block_table=[0], offset=0)]
for one in (0, token):
    print(run(model, [[one]], [cache], [1]).tolist(), flush=True)
if token >= 3:
    time.sleep(3600)
ranks.close()
"""


def _led(
    token: int, follower: str = FOLLOWER, ready_s: float = 60
) -> subprocess.Popen[str]:
    """Start a process that leads another one to a token."""
    return _started(LEADER, follower, str(token), str(ready_s))


def _started(script: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_say_what_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """In float32: the kernels round, and another order of a sum rounds otherwise.

    A signal ends both, once the answers have ended.
    """
    monkeypatch.setenv("TINY_LLM_KERNELS", "none")
    process = _started(SERVE, "--port", "0", "--processes", "2")
    expected = _said_by_one()
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found, process.communicate()[1]

    asked = {"model": "tiny", "prompt": PROMPTS, "max_tokens": 8, "temperature": 0}
    url = f"{found[0]}/v1/completions"
    answer = httpx.post(url, json=asked, timeout=60, trust_env=False).json()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

    said = {one["index"]: one["text"] for one in answer["choices"]}
    assert [said[place] for place in range(len(PROMPTS))] == expected
    assert process.returncode == 0


def _said_by_one() -> list[str]:
    """Let an engine of one process answer."""
    served = start(Settings())
    params = served.solution.get("request.SamplingParams")(max_tokens=8, temperature=0)
    for place, prompt in enumerate(PROMPTS):
        ids = served.engine.tokenizer.encode(prompt)
        served.engine.add_request(str(place), ids, params)
    texts = [""] * len(PROMPTS)
    while served.engine.has_work:
        for output in served.engine.step():
            texts[int(output.id)] += output.text
    return texts


def test_all_end_when_it_is_over() -> None:
    process = _led(KINDLY)

    said, complaints = process.communicate(timeout=60)

    assert said == "[2.0, 2.0, 2.0]\n" * 2
    assert (process.returncode, complaints) == (0, "")


@pytest.mark.parametrize(
    ("token", "reason"),
    [(FAILS, "ValueError: two lines"), (DIES, "exit status -9")],
    ids=["raises", "is-killed"],
)
def test_one_that_ends_ends_all(token: int, reason: str) -> None:
    """While the first waits for its part of a sum."""
    process = _led(token)

    _, complaints = process.communicate(timeout=60)

    line = f"serve: process 1 has ended, and so all have: {reason}\n"
    assert (process.returncode, complaints) == (1, line)


@pytest.mark.parametrize("token", [STAYS_IN_A_SUM, STAYS], ids=["in-a-sum", "idle"])
def test_first_one_ends_all(token: int) -> None:
    process = _led(token)
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    before_s = time.monotonic()

    process.kill()
    _, complaints = process.communicate(timeout=60)  # until all have closed stderr

    assert complaints == "serve: process 0 has ended, and so all have: it is gone\n"
    assert time.monotonic() - before_s < 5


@pytest.mark.parametrize(
    ("follower", "line"),
    [
        (
            "import time; time.sleep(3600)",
            "process 1: expected it to have the model within 1 s\n",
        ),
        (
            "import os; os._exit(3)",
            "process 1 has ended, and so all have: exit status 3\n",
        ),
    ],
    ids=["sleeps", "ends"],
)
def test_one_that_does_not_come_is_not_waited_for(follower: str, line: str) -> None:
    process = _led(KINDLY, follower, ready_s=1)

    _, complaints = process.communicate(timeout=60)

    assert (process.returncode, complaints) == (1, line)


def test_key_heads_have_to_be_dealt_out() -> None:
    line = "--processes 3: expected a number that divides the 2 key heads of the model"
    with pytest.raises(CourseError, match=line):
        chosen(Settings(processes=3))
