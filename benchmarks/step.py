"""How much of a run is not forward, backward and optimiser, and how fast a run is beside a bare loop, or beside RS.

    python benchmarks/step.py --data-root VOCdevkit --backbone FOLDER
    python benchmarks/step.py --data-root VOCdevkit --backbone FOLDER --method cuter

A real run, with its worker process, metrics, events and display, takes turns with a bare loop of forward, backward
and optimiser step on random tensors of the same sizes, so that a machine that gets slower or faster meanwhile does so
to both. The parts of a step are timed where they happen in the learner. With another method than RS, it takes turns
with a learner of RS that observes the same batches instead.
"""

import argparse
import functools
import io
import statistics
import tempfile
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from cuter.learn.learner import Learner, Step
from cuter.runs.config import RunConfig
from cuter.runs.directory import RunDirectory
from cuter.runs.plan import make_plan
from cuter.runs.progress import Progress
from cuter.runs.run import Run
from cuter.show.run_display import Display
from cuter.stream.batch import Batch
from cuter.stream.datasets import load_dataset

MODEL = "forward, backward, optimiser"
REST = "waiting for images, metrics, events, display"


class Clock:
    """Seconds by part of a step. A part inside another part is not counted twice."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.inside = 0.0

    def watch(self, owner: object, method: str, part: str) -> None:
        """Time every call of a method from now on."""
        original: Callable[..., object] = getattr(owner, method)

        @functools.wraps(original)
        def timed(*args: object, **kwargs: object) -> object:
            before, outer = time.perf_counter(), self.inside
            self.inside = 0.0
            try:
                return original(*args, **kwargs)
            finally:
                elapsed = time.perf_counter() - before
                self.seconds[part] += elapsed - self.inside
                self.inside = outer + elapsed

        setattr(owner, method, timed)


def bare_step(learner: Learner, batch: int, replay: int, classes: int) -> Callable[[], None]:
    """Return one step of forward, backward and optimiser on random tensors, and nothing else."""
    backbone = learner.backbone
    head = torch.nn.Linear(backbone.embedding_dim, classes, device=learner.device)
    parameters = [*backbone.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=0.0, weight_decay=0.0, fused=True)  # spends time, changes nothing
    size = backbone.image_size
    inputs = [torch.rand(count, 3, size, size, device=learner.device) for count in (batch, replay)]

    def step() -> None:
        loss = torch.stack([head(backbone(images).embedding).square().mean() for images in inputs]).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def same_batches(learner: Learner, other: Learner) -> Callable[[], object]:
    """Return one step of another learner, on the batches that the first one observes, in their order."""
    batches: deque[Batch] = deque()
    observe = learner.observe

    def observe_and_pass_on(batch: Batch) -> Step:
        batches.append(batch)
        return observe(batch)

    learner.observe = observe_and_pass_on  # type: ignore[method-assign]
    return lambda: other.observe(batches.popleft())


class TakeTurns:
    """Lets another loop run after every few steps of the run, and notes how long both took."""

    def __init__(self, other: Callable[[], object], steps: int, clock: Clock):
        self.other, self.steps, self.clock = other, steps, clock
        self.turns: list[tuple[float, float]] = []
        self.seconds: dict[str, float] = {}
        self.count = 0
        self.began = time.perf_counter()

    def after_step(self) -> None:
        """Be called after each step of the run."""
        self.count += 1
        if self.count % self.steps:
            return
        ran = time.perf_counter() - self.began
        before = time.perf_counter()
        for _ in range(self.steps):
            self.other()
        self.turns.append((ran, time.perf_counter() - before))
        if len(self.turns) == 1:  # the first turn fills memory and warms everything up
            self.clock.seconds.clear()
        self.seconds = dict(self.clock.seconds)
        self.began = time.perf_counter()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="voc")
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--method", default="rs")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a setting of the run")
    parser.add_argument("--augment", choices=["paper", "flip", "none"], default="flip")
    parser.add_argument("--steps", type=int, default=10, help="steps in each turn")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()

    settings = dict(setting.split("=", 1) for setting in options.set)
    classes = load_dataset(options.dataset, options.data_root).classes
    config = RunConfig(
        dataset=options.dataset,
        data_root=options.data_root,
        backbone=options.backbone,
        method=options.method,
        **settings,
        tasks=[list(classes)],  # all in one task, so that every image is one visit
        augment=options.augment,
        limit_train=12 * options.steps * (options.turns + 1),
        limit_test=64,
    )
    learner = Learner.create(config.method, backbone=config.backbone, augment=config.augment, **settings)
    clock = Clock()
    for owner, method, part in (
        (learner.model, "forward", MODEL),
        (learner, "criterion", MODEL),
        (learner, "_step", MODEL),
        (learner, "augment", "augmentation"),
        (learner, "localise", "cut"),
        (learner, "regularise", "regulariser"),
        (learner, "draw", "drawing the replay"),
        (learner.memory, "offer", "memory"),
        (learner, "keeper", "keeper"),
        (learner, "observe", "the rest of observe"),
    ):
        clock.watch(owner, method, part)
    other: Callable[[], object]
    if options.method == "rs":
        other, name, wanted = (
            bare_step(learner, config.batch_size, config.replay_size, len(classes)),
            "a bare loop",
            0.85,
        )
    else:
        rs = Learner.create("rs", backbone=config.backbone, augment=config.augment)
        other, name, wanted = same_batches(learner, rs), "RS", 0.95
    turns = TakeTurns(other, options.steps, clock)

    with tempfile.TemporaryDirectory() as folder:
        display = Display(Console(file=io.StringIO()))
        run = Run(
            config,
            RunDirectory.create(Path(folder) / "run", config),
            make_plan(config),
            learner=learner,
            progress=Progress(),
            display=display,
        )
        note_step = run._note_step

        def note_and_take_turns(*args: object, **kwargs: object) -> None:
            note_step(*args, **kwargs)  # type: ignore[arg-type]
            turns.after_step()

        run._note_step = note_and_take_turns  # type: ignore[method-assign]
        run.carry_out()

    measured = turns.turns[1:]
    steps = options.steps * len(measured)
    total = sum(ran for ran, _ in measured)
    parts = turns.seconds | {REST: total - sum(turns.seconds.values())}
    table = Table(title=f"Share of a run ({steps} steps of 12 + 6 images)", min_width=70)
    table.add_column("part")
    table.add_column("ms a step", justify="right")
    table.add_column("share", justify="right")
    for part, spent in sorted(parts.items(), key=lambda item: -item[1]):
        table.add_row(part, f"{1000 * spent / steps:.1f}", f"{spent / total:.1%}")
    ratios = [theirs / ran for ran, theirs in measured]
    console = Console()
    console.print(table)
    if options.method == "rs":
        console.print(f"not forward, backward, optimiser: {1 - parts[MODEL] / total:.1%} (at most 5 % wanted)")
    console.print(
        f"images/s of {options.method} beside {name}: {statistics.median(ratios):.2f} "
        f"(median of {len(ratios)} turns, {min(ratios):.2f} to {max(ratios):.2f}; at least {wanted} wanted)"
    )


if __name__ == "__main__":
    main()
