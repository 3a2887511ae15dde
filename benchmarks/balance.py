"""How balanced the classes are that each memory policy keeps of a stream of whole images: labels alone, no learning.

    python benchmarks/balance.py --data-root VOCdevkit

Beside it stands the data itself. What cut-outs make of it is in a run's balance.png.
"""

import argparse
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from cuter.memory import MEMORIES, Item, Memory
from cuter.stream.batch import membership
from cuter.stream.datasets import load_dataset
from cuter.stream.samples import class_counts
from cuter.stream.tasks import StreamSample, make_tasks, plan_stream


def main() -> None:
    """Offer the stream to each policy and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="voc")
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--tasks", default="5x4")
    parser.add_argument("--memory.images", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()

    dataset = load_dataset(given.dataset, given.data_root)
    tasks = make_tasks(given.tasks, dataset.classes)
    names = tuple(name for task in tasks for name in task.classes)
    table = Table("policy", "most", "least", "ratio", title=f"classes in a memory of {given.memory_images} images")
    plans = [plan_stream(dataset.train, tasks, seed) for seed in range(given.seeds)]
    for policy in MEMORIES:
        if MEMORIES[policy].wants:
            continue  # it judges by what a model says of an image
        counts = []
        for seed, plan in enumerate(plans):
            memory = MEMORIES[policy](given.memory_images, torch.Generator().manual_seed(seed))
            show(memory, plan, names)
            counts.append(memory.counts())
        held = torch.stack(counts).double()
        most, least = held.amax(dim=1), held.amin(dim=1)
        table.add_row(policy, f"{most.mean():.0f}", f"{least.mean():.1f}", f"{(most / least).mean():.1f}")
    images = class_counts(dataset.train).values()
    table.add_row("the data itself", str(max(images)), str(min(images)), f"{max(images) / min(images):.1f}")
    Console().print(table)


def show(memory: Memory, plan: list[list[StreamSample]], names: tuple[str, ...]) -> None:
    """Offer all visits, as images of one pixel: the budget then counts images."""
    pixel = torch.zeros(3, 1, 1, dtype=torch.uint8)
    for visits in plan:
        labels = membership([visit.labels for visit in visits], names)
        known = membership([visit.known for visit in visits], names)
        memory.offer([Item(pixel, *row, visit.sample.id) for visit, *row in zip(visits, labels, known, strict=True)])


if __name__ == "__main__":
    main()
