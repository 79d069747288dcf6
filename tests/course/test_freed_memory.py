"""What MLX computes again gets few new pages of memory from the system."""

import subprocess
import sys

import pytest

COUNTS = """
{prepare}
import resource
import mlx.core as mx

def num_pages():
    mx.eval([x + i for i in range(24)])  # about as much as 24 layers return
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


x = mx.zeros((1024, 1024))
print(-num_pages() + [num_pages() for _ in range(4)][-1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is about glibc's malloc")
def test_large_arrays_mostly_come_in_pages_that_the_process_has() -> None:
    assert 5 * num_new_pages("import tiny_llm_course") < num_new_pages("")


def num_new_pages(prepare: str) -> int:
    """Count the pages that the system hands out when the same is computed again."""
    code = COUNTS.format(prepare=prepare)
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    return int(ran.stdout)
