"""Training of a Qwen2 from random weights, which can be stopped and continued."""

import json
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tiny_llm_course.errors import CourseError
from tiny_llm_lab.corpus.rows import Rows
from tiny_llm_lab.training.checkpoint_files import new_model
from tiny_llm_lab.training.recipe import Recipe

SAVE_EVERY_S = 60.0
LOG_EVERY = 50  # steps
EVALUATE_EVERY = 500  # steps
WORTH_COMPILING = 200  # steps; in a shorter run, compiling does not pay off


@dataclass(frozen=True)
class Report:
    """The progress of training after a step."""

    step: int
    loss: float
    learning_rate: float
    wall_s: float


def best_device() -> torch.device:
    """Choose CUDA, then MPS, then the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def learning_rate(recipe: Recipe, step: int) -> float:
    """Rise linearly during the warm-up, then fall to zero along a half cosine."""
    if step < recipe.warmup_steps:
        return recipe.learning_rate * (step + 1) / recipe.warmup_steps
    progress = (step - recipe.warmup_steps) / (recipe.steps - recipe.warmup_steps)
    return recipe.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))


def new_optimizer(model: torch.nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    """Make an AdamW that decays matrices, and neither norms nor biases."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2]},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=recipe.learning_rate,
        betas=(0.9, 0.95),
        weight_decay=recipe.weight_decay,
        fused=True,
    )


def next_token_loss(model: torch.nn.Module, batch: Tensor) -> Tensor:
    """Average the cross-entropy over every token of the rows but the first of each."""
    logits = model(input_ids=batch[:, :-1], use_cache=False).logits
    targets = batch[:, 1:].flatten()
    return functional.cross_entropy(logits.flatten(0, 1).float(), targets)


def mean_loss(model: torch.nn.Module, rows: Rows, batch_size: int) -> float:
    """Measure the loss per token on `rows`, without learning from them."""
    device = next(model.parameters()).device
    batches = [
        to_device(rows[first : first + batch_size], device)
        for first in range(0, len(rows), batch_size)
    ]
    with torch.no_grad():
        losses = [
            next_token_loss(model, batch).item() * len(batch) for batch in batches
        ]
    return sum(losses) / len(rows)


def to_device(rows: Rows, device: torch.device) -> Tensor:
    """Copy rows to the device as the integers that an embedding takes."""
    return torch.from_numpy(rows.astype(np.int64)).to(device)


class Pretraining:
    """A model, its optimiser and the step they have reached.

    Weights and optimiser are float32, products run in bfloat16. There is no dropout and
    the rows have a fixed order, so a restart needs only the step in addition.

    Args:
        recipe: What to train.
        folder: The folder of the state; training continues from it if it exists.
        device: Where to train.
    """

    def __init__(self, recipe: Recipe, folder: Path, device: torch.device) -> None:
        self.recipe = recipe
        self.folder = folder
        self.device = device
        self.model: torch.nn.Module = new_model(recipe)
        self.model.to(device)
        self.optimizer = new_optimizer(self.model, recipe)
        self.step = 0
        self.wall_s = 0.0
        if self.state_file.exists():
            self.restore()

    @property
    def state_file(self) -> Path:
        """The file of the state."""
        return self.folder / "training.pt"

    def restore(self) -> None:
        """Continue from the state in the folder.

        Raises:
            CourseError: The state is that of another recipe.
        """
        state = torch.load(self.state_file, self.device, weights_only=True)
        if state["recipe"] != asdict(self.recipe):
            message = (
                f"{self.folder}: expected a training of the same recipe, got another "
                "one; choose another --out or delete the folder"
            )
            raise CourseError(message)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.wall_s = state["step"], state["wall_s"]

    def save(self) -> None:
        """Save the state atomically."""
        state = {
            "recipe": asdict(self.recipe),
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "wall_s": self.wall_s,
        }
        unfinished = self.state_file.with_suffix(".part")
        torch.save(state, unfinished)
        unfinished.replace(self.state_file)

    def run(self, rows: Rows, held_out: Rows, report: Callable[[Report], None]) -> None:
        """Train until the last step of the recipe; save the state when interrupted.

        Args:
            rows: One row per sample, in the order in which they are used.
            held_out: Rows to measure the loss on during training.
            report: Called after every step.
        """
        loss_of = self.compiled_loss()
        begun = time.monotonic() - self.wall_s
        saved = time.monotonic()
        try:
            while self.step < self.recipe.steps:
                rate, loss = self.train_step(loss_of, rows)
                self.wall_s = time.monotonic() - begun
                current = Report(self.step, loss, rate, self.wall_s)
                report(current)
                self.log(current, held_out)
                if time.monotonic() - saved > SAVE_EVERY_S:
                    self.save()
                    saved = time.monotonic()
        finally:
            self.save()

    def train_step(
        self, loss_of: Callable[[Tensor], Tensor], rows: Rows
    ) -> tuple[float, float]:
        """Take one step of gradient descent.

        Returns:
            The learning rate of the step, and the loss before it.
        """
        rate = learning_rate(self.recipe, self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        first = self.step * self.recipe.batch_size
        batch = to_device(rows[first : first + self.recipe.batch_size], self.device)
        loss = loss_of(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return rate, loss.item()

    def compiled_loss(self) -> Callable[[Tensor], Tensor]:
        """Let PyTorch fuse the loss on a CPU, where that needs a C++ compiler."""
        is_long = self.recipe.steps >= WORTH_COMPILING
        if is_long and self.device.type == "cpu" and shutil.which("g++"):
            return torch.compile(self.loss)
        return self.loss

    def loss(self, batch: Tensor) -> Tensor:
        """Compute the training loss, with products in bfloat16."""
        with torch.autocast(self.device.type, torch.bfloat16):
            return next_token_loss(self.model, batch)

    def log(self, current: Report, held_out: Rows) -> None:
        """Append a line to the log now and then, sometimes with the held-out loss."""
        if current.step % LOG_EVERY and current.step != self.recipe.steps:
            return
        line = asdict(current)
        if current.step % EVALUATE_EVERY == 0:
            size = self.recipe.batch_size
            line["held_out_loss"] = mean_loss(self.model, held_out, size)
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
