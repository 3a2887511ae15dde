"""How balanced the classes are that each memory policy keeps of a stream of whole images: labels alone, no learning.

    python benchmarks/balance.py --data-root VOCdevkit

Beside it stands the data itself. What cut-outs make of it is in the last lines of a run's metrics, and in its balance.png.
"""

import argparse
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from cuter.memory import MEMORIES, Item
from cuter.stream.batch import membership
from cuter.stream.datasets import load_dataset
from cuter.stream.samples import class_counts
from cuter.stream.tasks import make_tasks, plan_stream


def main() -> None:
    """Offer the stream to each policy and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="voc")
    parser.add_argument("--data-root", type=Path, required=True)
    parser.add_argument("--tasks", default="5x4")
    parser.add_argument("--memory-images", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()

    dataset = load_dataset(given.dataset, given.data_root)
    tasks = make_tasks(given.tasks, dataset.classes)
    names = tuple(name for task in tasks for name in task.classes)
    table = Table("policy", "most", "least", "ratio", title=f"classes in a memory of {given.memory_images} images")
    for policy in MEMORIES:
        counts = torch.stack(
            [kept(policy, dataset.train, tasks, names, given.memory_images, s) for s in range(given.seeds)]
        )
        most, least = counts.max(dim=1).values.double(), counts.min(dim=1).values.double()
        table.add_row(policy, f"{most.mean():.0f}", f"{least.mean():.1f}", f"{(most / least).mean():.1f}")
    images = class_counts(dataset.train).values()
    table.add_row("the data itself", str(max(images)), str(min(images)), f"{max(images) / min(images):.1f}")
    Console().print(table)


def kept(policy, samples, tasks, names, budget, seed):  # type: ignore[no-untyped-def]
    """Return how many items memory holds of each class in the end."""
    memory = MEMORIES[policy](budget, torch.Generator().manual_seed(seed))
    pixel = torch.zeros(3, 1, 1, dtype=torch.uint8)
    for visits in plan_stream(samples, tasks, seed):
        labels = membership([visit.labels for visit in visits], names)
        known = membership([visit.known for visit in visits], names)
        memory.offer([Item(pixel, *row, visit.sample.id) for visit, *row in zip(visits, labels, known, strict=True)])
    return memory.counts()


if __name__ == "__main__":
    main()
