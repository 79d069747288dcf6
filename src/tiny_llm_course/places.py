"""Where things lie in a checkout of the course."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "src" / "tiny_llm"
REFERENCE = ROOT / "src" / "tiny_llm_ref"
TESTS = ROOT / "tests"
COPIES = ROOT / "copies"
