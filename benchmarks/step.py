"""How much of a step is not forward, backward and optimiser, and how fast a whole run is beside a bare loop.

    python benchmarks/step.py --data-root VOCdevkit --backbone FOLDER

Both answers are ratios measured in one process. The parts of a step are timed where they happen in the learner; the
bare loop does forward, backward and optimiser step on random tensors of the same sizes. Run and bare loop take turns,
so that a machine that gets slower or faster meanwhile slows or speeds both.
"""

import argparse
import functools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from cuter.backbone import load_backbone
from cuter.learn.learner import Learner
from cuter.stream.datasets import load_dataset
from cuter.stream.loading import load_batches
from cuter.stream.tasks import in_batches, make_tasks, plan_stream

MODEL = "forward, backward, optimiser"


class Clock:
    """Seconds by part of the step. A part inside another part is not counted twice."""

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


def bare_loop(learner: Learner, batch: int, replay: int, classes: int) -> Callable[[], None]:
    """Return one step of forward, backward and optimiser on random tensors, and nothing else."""
    model = torch.nn.Sequential(learner.model.backbone)
    head = torch.nn.Linear(learner.model.backbone.embedding_dim, classes, device=learner.device)
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=0.0, weight_decay=0.0, fused=True)
    size = learner.model.backbone.image_size
    inputs = [torch.rand(count, 3, size, size, device=learner.device) for count in (batch, replay)]

    def step() -> None:
        loss = sum(head(learner.model.backbone(images).embedding).square().mean() for images in inputs)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[union-attr]
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="voc")
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--backbone", required=True)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--replay-size", type=int, default=6)
    parser.add_argument("--augment", default="paper")
    parser.add_argument("--steps", type=int, default=5, help="steps in each turn")
    parser.add_argument("--turns", type=int, default=6)
    options = parser.parse_args()

    dataset = load_dataset(options.dataset, options.data_root)
    learner = Learner.create(
        backbone=load_backbone(options.backbone), replay_size=options.replay_size, augment=options.augment
    )
    (visits,) = plan_stream(dataset.train, make_tasks([list(dataset.classes)], dataset.classes), seed=0)
    batches = in_batches(visits, options.batch_size)[: options.steps * (options.turns + 1)]
    stream = load_batches(batches, dataset.classes, learner.model.backbone.image_size, workers=1)
    bare = bare_loop(learner, options.batch_size, options.replay_size, len(dataset.classes))

    clock = Clock()
    clock.watch(learner.model, "forward", MODEL)
    clock.watch(learner, "criterion", MODEL)
    clock.watch(learner, "_step", MODEL)
    clock.watch(learner, "augment", "augmentation")
    clock.watch(learner, "_draw_replay", "drawing the replay")
    clock.watch(learner.memory, "offer", "memory")
    clock.watch(learner, "keeper", "keeper")
    clock.watch(learner, "observe", "the rest of observe")

    def run() -> None:
        for _ in range(options.steps):
            before = time.perf_counter()
            loaded = next(stream)
            clock.seconds["waiting for images"] += time.perf_counter() - before
            learner.observe(loaded.batch)

    def loop() -> None:
        for _ in range(options.steps):
            bare()

    def seconds(turn: Callable[[], None]) -> float:
        before = time.perf_counter()
        turn()
        return time.perf_counter() - before

    run(), loop()  # warm up, and fill the memory
    clock.seconds.clear()
    pairs = [(seconds(run), seconds(loop)) for _ in range(options.turns)]

    total = sum(clock.seconds.values())
    table = Table(title=f"Share of a step ({options.steps * options.turns} steps)", min_width=60)
    table.add_column("part")
    table.add_column("ms a step", justify="right")
    table.add_column("share", justify="right")
    for part, spent in sorted(clock.seconds.items(), key=lambda item: -item[1]):
        table.add_row(part, f"{1000 * spent / options.steps / options.turns:.1f}", f"{spent / total:.1%}")
    ratios = [loop_seconds / run_seconds for run_seconds, loop_seconds in pairs]
    console = Console()
    console.print(table)
    console.print(f"not forward, backward, optimiser: {1 - clock.seconds[MODEL] / total:.1%} (at most 5 % wanted)")
    console.print(
        f"images/s of the run beside the bare loop: {statistics.median(ratios):.2f} "
        f"(median of {options.turns}, from {min(ratios):.2f} to {max(ratios):.2f}; at least 0.85 wanted)"
    )


if __name__ == "__main__":
    main()
