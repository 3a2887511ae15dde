"""What one item costs a full memory at three sizes, by policy, what the end of a task costs, and what the codecs save.

    python benchmarks/memory.py
    python benchmarks/memory.py --data-root VOCdevkit

Memory is filled with a long-tailed mixture of items of one pixel and up to three labels, and then offered items of new
classes, which every policy wants. The three sizes take turns; the cost is the median over the offers that were taken,
in time of the processor, so that other work on the machine counts little. The exponent is the slope of log(cost) over
log(items): 0 where the cost does not depend on the size of memory, 1 where it grows with it.

The end of a task is measured for the policies that then pick their exemplars, once for each size.

With --data-root, codecs on images of VOC test and on crops of them, scaled to 200 pixels: where the files have the size
that is asked for, JPEG would find its own 8 × 8 blocks again and look better than it is.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from cuter.memory import MEMORIES, Item, Memory
from cuter.memory.codec import CODECS, decode, encode
from cuter.memory.exemplars import Exemplars
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_images

SIZES = (1_000, 10_000, 100_000)
CLASSES = 100  # in memory, and as many new ones
DIM = 192  # of embeddings, as in ViT-Tiny


def items(labels: np.ndarray, absent: float, columns: int = 2 * CLASSES) -> list[Item]:
    """Return items of these labels (n, k); their loss pulls labels up, and all others down by so much."""
    generator = torch.Generator().manual_seed(0)
    image, known = torch.zeros(3, 1, 1, dtype=torch.uint8), torch.ones(columns, dtype=torch.bool)
    made = []
    for number, some in enumerate(torch.from_numpy(labels)):
        given = torch.zeros(columns, dtype=torch.bool)
        given[some] = True
        embedding = torch.rand(DIM, generator=generator)
        made.append(Item(image, given, known, str(number), embedding=embedding, logit_grad=absent - given.float()))
    return made


def long_tailed(size: int) -> np.ndarray:
    """Draw one to three labels for each item, (size, 3) with repetitions: the head is 50 times the tail."""
    shares = 50.0 ** -(np.arange(CLASSES) / (CLASSES - 1))
    rng = np.random.default_rng(0)
    labels = rng.choice(CLASSES, (size, 3), p=shares / shares.sum())
    for place, share in ((1, 0.5), (2, 0.8)):
        has_less = rng.random(size) < share
        labels[has_less, place] = labels[has_less, 0]
    return labels


def filled(policy: str, size: int, columns: int = 2 * CLASSES) -> Memory:
    memory = MEMORIES[policy](size, torch.Generator().manual_seed(0))
    memory.offer(items(long_tailed(size), absent=0.5, columns=columns))
    return memory


def seconds(work: Callable[[], object]) -> float:
    before = time.thread_time()
    work()
    return time.thread_time() - before


def insertion_costs(policy: str, offers: int) -> list[float]:
    """Return the seconds of one offer that is taken, at each size."""
    memories = [filled(policy, size) for size in SIZES]
    times: list[list[float]] = [[] for _ in SIZES]
    new = CLASSES + np.arange(offers)[:, None] % CLASSES
    for item in items(new, absent=0):  # of old classes nothing is known, so nothing is pulled down
        for memory, taken in zip(memories, times, strict=True):
            held = memory.index.count(item.classes[0])
            elapsed = seconds(lambda memory=memory, item=item: memory.offer([item]))
            if memory.index.count(item.classes[0]) > held:
                taken.append(elapsed)
    return [statistics.median(taken) for taken in times]


def exponent(sizes: tuple[int, ...], costs: list[float]) -> str:
    return f"{np.polyfit(np.log(sizes), np.log(costs), 1)[0]:.2f}"


def insertions(offers: int) -> Table:
    table = Table("policy", *(f"{size:,} items" for size in SIZES), "exponent", title="µs to insert an item when full")
    for policy in MEMORIES:
        costs = insertion_costs(policy, offers)
        table.add_row(policy, *(f"{1e6 * cost:.0f}" for cost in costs), exponent(SIZES, costs))
    return table


def task_ends() -> Table:
    sizes = SIZES[:2]  # clusters of 100,000 items take minutes
    table = Table("policy", *(f"{size:,} items" for size in sizes), "exponent", title="ms to pick exemplars")
    new = items(np.array([[CLASSES]]), absent=0)
    for policy in (name for name in MEMORIES if issubclass(MEMORIES[name], Exemplars)):
        memories = [filled(policy, size, columns=CLASSES) for size in (200, *sizes)]
        memories.pop(0).offer(new)  # whatever is loaded on first use
        costs = [seconds(lambda memory=memory: memory.offer(new)) for memory in memories]
        table.add_row(policy, *(f"{1e3 * cost:.0f}" for cost in costs), exponent(sizes, costs))
    return table


def codecs(images: torch.Tensor) -> Table:
    title = f"Codecs on {len(images)} images of {images.shape[-2]} × {images.shape[-1]}"
    table = Table("codec", "times smaller", "mean error, grey levels", "encode, ms", "decode, ms", title=title)
    for codec in CODECS:
        stored = [encode(image, codec) for image in images]
        decoded = torch.stack([decode(one) for one in stored])
        encoding = [seconds(lambda image=image, codec=codec: encode(image, codec)) for image in images]
        decoding = [seconds(lambda one=one: decode(one)) for one in stored]
        table.add_row(
            codec,
            f"{images.numel() / sum(one.numel() for one in stored):.1f}",
            f"{(decoded.float() - images.float()).abs().mean():.2f}",
            *(f"{1000 * statistics.median(times):.2f}" for times in (encoding, decoding)),
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root")
    parser.add_argument("--offers", type=int, default=500)
    parser.add_argument("--images", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    console = Console()
    console.print(insertions(arguments.offers))
    console.print(task_ends())
    if arguments.data_root:
        samples = load_dataset("voc", arguments.data_root).test[: arguments.images]
        images = read_images((sample.path for sample in samples), 200)
        console.print(codecs(images))
        console.print(codecs(images[:, :, 41:137, 61:133]))


if __name__ == "__main__":
    main()
