"""`pdm run main`: what it prints when a model answers, and what its options do."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import pytest
from click.testing import CliRunner, Result

from tiny_llm_course.commands.main import command

# A background job of a shell ignores Ctrl-C, and so do its child processes.
HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
IN_PYTHON = (
    f"{HEARS_CTRL_C}; from tiny_llm_course.commands.main import command; command()"
)

Scripted = Callable[..., Path]


def test_the_answer_is_on_stdout_and_the_speeds_on_stderr(
    main: Callable[..., Result], scripted: Scripted
) -> None:
    result = main("--solution", scripted("the owl and the fox"), "--prompt", "hello")

    assert result.exit_code == 0
    assert result.stdout == "the owl and the fox\n"
    assert re.fullmatch(
        r"> hello\n"
        r"prompt: \d+ tokens, [\d.]+ tokens/s; answer: \d+ tokens, [\d.]+ tokens/s\n"
        r"This is --loader week1, which reads the whole text again for each token\.\n",
        result.stderr,
    )


def test_the_text_appears_as_it_grows_and_ctrl_c_keeps_it(
    tiny_checkpoint: Path, scripted: Scripted
) -> None:
    """The whole text would take nine seconds."""
    solution = scripted("h" * 90, pause_s=0.1)
    options = ["--model", str(tiny_checkpoint), "--solution", str(solution)]
    options += ["--loader", "week1"]

    process = subprocess.Popen(
        [sys.executable, "-c", IN_PYTHON, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        said = process.stdout.read(2)
        process.send_signal(signal.SIGINT)
        said += process.stdout.read()
        notes = process.stderr.read()

    assert re.fullmatch(r"h{2,20}\n", said)
    assert "ended by interrupt\n" in notes
    assert process.returncode == 130


def test_without_arguments_the_embedded_model_tells_a_story() -> None:
    run = subprocess.run(
        [sys.executable, "-c", IN_PYTHON], capture_output=True, text=True, check=True
    )

    assert run.stdout.count(" ") > 30
    assert run.stdout.endswith((".\n", '."\n', '!"\n', '?"\n'))
    prompt, speeds, *_, loader = run.stderr.splitlines()
    assert prompt == "> Tell me a story about a fox in the forest."
    assert re.fullmatch(
        r"prompt: 19 tokens, [\d.]+ tokens/s; answer: \d+ tokens, [\d.]+ tokens/s",
        speeds,
    )
    assert re.match(r"This is --loader (week2|kernels), ", loader)


@pytest.mark.parametrize("temp", [0, 0.7])
def test_the_story_is_about_what_was_asked_for(temp: float) -> None:
    options = ["--temp", str(temp), "--seed", "1"]

    result = CliRunner().invoke(command, options)

    assert "fox" in result.stdout
    assert "forest" in result.stdout


def test_pytorch_is_not_imported(tiny_checkpoint: Path) -> None:
    """Importing it takes as long as everything else, and only transformers needs it."""
    arguments = ["--model", str(tiny_checkpoint), "--max-tokens", "1"]
    code = (
        "import sys; from tiny_llm_course.commands.main import command\n"
        "try: command()\n"
        "finally: print('torch' in sys.modules)"
    )

    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )

    assert run.stdout.endswith("\nFalse\n")


def test_greedy_decoding_needs_no_seed(main: Callable[..., Result]) -> None:
    first, second = (main("--max-tokens", 9).stdout for _ in range(2))

    assert first == second


def test_a_temperature_next_to_nothing_is_greedy(main: Callable[..., Result]) -> None:
    """Logits divided by it overflow, and a draw among infinities is arbitrary."""
    first, second = (
        main("--max-tokens", 9, "--temp", temp).stdout for temp in (0, 1e-320)
    )

    assert first == second


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_the_device_is_the_one_that_was_asked_for(
    main: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    chosen: list[mx.Device] = []
    monkeypatch.setattr(mx, "set_default_device", chosen.append)
    monkeypatch.setattr(mx, "is_available", lambda _: True)

    ran = main("--device", device, "--max-tokens", 1)

    assert ran.exit_code == 0, ran.output
    assert [one.type for one in chosen] == [getattr(mx.DeviceType, device)]


def test_a_device_that_is_not_here_is_refused(
    main: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mx, "is_available", lambda _: False)

    ran = main("--device", "gpu")

    assert ran.exit_code == 2
    assert "--device: expected one that MLX has here, got gpu" in ran.output


def test_a_seed_makes_sampling_repeatable(main: Callable[..., Result]) -> None:
    first, second, other = (
        main("--max-tokens", 9, "--temp", 1, "--seed", seed).stdout
        for seed in (3, 3, 4)
    )

    assert first == second
    assert first != other


def test_top_k_of_one_is_greedy_whatever_the_temperature(
    main: Callable[..., Result],
) -> None:
    """The options reach the sampler."""
    greedy = main("--max-tokens", 9).stdout

    assert main("--max-tokens", 9, "--temp", 2, "--top-k", 1).stdout == greedy
    assert main("--max-tokens", 9, "--temp", 2, "--top-p", 1e-6).stdout == greedy


def test_the_answer_is_no_longer_than_asked_for(
    main: Callable[..., Result], scripted: Scripted
) -> None:
    result = main("--solution", scripted("hhhhhhhhhh"), "--max-tokens", 4)

    assert result.stdout == "hhhh\n"
    assert "; ended by max tokens\n" in result.stderr


@pytest.mark.parametrize("temp", [0, 1])
def test_the_answer_ends_when_the_context_is_full(
    main: Callable[..., Result], temp: float
) -> None:
    """A prompt of 101 tokens of 128 leaves 27, and a last one that is not fed back."""
    prompt = "~" * 101

    result = main("--raw", "--prompt", prompt, "--temp", temp, "--seed", 1)

    assert result.exit_code == 0
    assert re.search(
        r"prompt: 101 tokens, .* answer: 28 tokens, .* ended by context\n",
        result.stderr,
    )


def test_a_prompt_may_fill_the_context(main: Callable[..., Result]) -> None:
    result = main("--raw", "--prompt", "~" * 128)

    assert re.search(r"answer: 1 tokens; ended by context\n", result.stderr)


def test_a_prompt_longer_than_the_context_is_refused(
    main: Callable[..., Result],
) -> None:
    result = main("--raw", "--prompt", "~" * 129)

    assert result.exit_code == 2
    assert result.stderr == (
        "main: the prompt has 129 tokens, and the model sees no more than 128; "
        "shorten it\n"
    )


def test_the_prompt_becomes_a_turn_of_a_chat(main: Callable[..., Result]) -> None:
    """The template of the tiny checkpoint adds a beginning and an end."""
    turn, bare = (
        int(re.findall(r"prompt: (\d+)", main(*raw, "--max-tokens", 1).stderr)[0])
        for raw in ([], ["--raw"])
    )

    assert turn > bare + 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prompt", " "], "--prompt: expected some text, got none"),
        (["--temp", "-1"], "Invalid value for '--temp': -1.0 is not in the range "),
        (["--loader", "week9"], "Invalid value for '--loader': 'week9' is not one of "),
        (["--modell", "x"], "No such option '--modell'."),
        (["--model", "qwen2-0.5"], "qwen2-0.5: expected embedded, qwen2-0.5b, "),
        (["--solution", "tiny_lm"], "there is no solution 'tiny_lm'"),
    ],
)
def test_misuse_is_told_in_one_line(
    main: Callable[..., Result], arguments: list[str], message: str
) -> None:
    result = main(*arguments)

    assert result.stderr.startswith(f"main: {message}")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert result.exit_code == 2


def test_help_is_for_a_newcomer(main: Callable[..., Result]) -> None:
    result = main("--help")

    assert result.exit_code == 0
    assert "yours with --solution tiny_llm" in result.stdout
