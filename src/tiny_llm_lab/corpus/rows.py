"""Training data: documents as token ids, packed into rows of equal length."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from tiny_llm_lab.corpus import Corpus
from tiny_llm_lab.corpus.chinese import ChineseCorpus
from tiny_llm_lab.corpus.tokenizer import END_OF_TEXT_ID

Rows = NDArray[np.uint16]
WORTH_PROCESSES = 1000  # rows; starting processes takes as long as making this many


@dataclass(frozen=True)
class Packer:
    """Turns one chunk of a corpus into rows.

    A row starts with a document and is filled with whole documents, each followed by
    the end-of-text token; the last one is cut where the row ends, and what is cut off
    is dropped. So position 0 is always the start of a document, as in inference.

    Args:
        corpus: Where the documents come from.
        tokenizer_file: The file of the tokenizer.
        length: Tokens in a row.
        num_documents: Documents in a chunk.
    """

    corpus: Corpus | ChineseCorpus
    tokenizer_file: Path
    length: int
    num_documents: int

    def rows(self, chunk: int) -> Rows:
        """Write, tokenise and pack the documents of `chunk`."""
        tokenizer = Tokenizer.from_file(str(self.tokenizer_file))
        texts = [doc.text for doc in self.corpus.documents(chunk, self.num_documents)]
        encoded = (encoding.ids for encoding in tokenizer.encode_batch(texts))
        return pack(([*ids, END_OF_TEXT_ID] for ids in encoded), self.length)


def pack(documents: Iterator[list[int]], length: int) -> Rows:
    """Fill rows of `length` tokens with documents; an unfinished row is dropped."""
    rows: list[list[int]] = []
    row: list[int] = []
    for document in documents:
        row += document
        if len(row) >= length:
            rows.append(row[:length])
            row = []
    return np.array(rows, dtype=np.uint16).reshape(-1, length)


def write_rows(
    packer: Packer, num_rows: int, path: Path, report: Callable[[int], None]
) -> None:
    """Write the first `num_rows` rows to `path`.

    Args:
        packer: Makes the rows of a chunk.
        num_rows: How many to write.
        path: A NumPy file, written atomically.
        report: Called with the number of rows written so far.
    """
    unfinished = path.with_suffix(".part")
    shape = (num_rows, packer.length)
    table = np.lib.format.open_memmap(unfinished, "w+", np.uint16, shape)
    filled = 0
    with chunks(packer, num_rows) as made:
        while filled < num_rows:
            taken = next(made)[: num_rows - filled]
            table[filled : filled + len(taken)] = taken
            filled += len(taken)
            report(filled)
    table.flush()
    unfinished.replace(path)


@contextmanager
def chunks(packer: Packer, num_rows: int) -> Generator[Iterator[Rows]]:
    """Make the chunks of `num_rows` rows, in one process per core if they are many."""
    numbers = range(num_rows)  # enough even with a single row in each chunk
    if num_rows < WORTH_PROCESSES:
        yield map(packer.rows, numbers)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(os.cpu_count(), leave_interrupts_to_parent) as pool:
        yield pool.imap(packer.rows, numbers)


def leave_interrupts_to_parent() -> None:
    """Ignore Ctrl-C in the workers, so that only the parent process ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def read_rows(path: Path) -> Rows:
    """Open rows without reading them into memory."""
    return np.load(path, mmap_mode="r")
