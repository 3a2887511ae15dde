"""What one item costs a full memory at three sizes, by policy, and what the codecs save.

    python benchmarks/memory.py
    python benchmarks/memory.py --data-root VOCdevkit

Memory is filled with a long-tailed mixture of items of one pixel, and then offered items of new classes, which every
policy wants. The three sizes take turns; the cost is the median over the offers that were taken, in time of the
processor, so that other work on the machine counts little. The exponent is the slope of log(cost) over log(items): 0
where the cost does not depend on the size of memory, 1 where it grows with it.

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
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_images

SIZES = (1_000, 10_000, 100_000)
CLASSES = 100  # in memory, and as many new ones


def items(columns: np.ndarray) -> list[Item]:
    image = torch.zeros(3, 1, 1, dtype=torch.uint8)
    known = torch.ones(2 * CLASSES, dtype=torch.bool)
    labels = torch.eye(2 * CLASSES, dtype=torch.bool)
    return [Item(image, labels[column], known, str(number)) for number, column in enumerate(columns)]


def filled(policy: str, size: int) -> Memory:
    shares = 50.0 ** -(np.arange(CLASSES) / (CLASSES - 1))  # the head is 50 times the tail
    memory = MEMORIES[policy](size, torch.Generator().manual_seed(0))
    memory.offer(items(np.random.default_rng(0).choice(CLASSES, size, p=shares / shares.sum())))
    return memory


def seconds(work: Callable[[], object]) -> float:
    before = time.thread_time()
    work()
    return time.thread_time() - before


def insertion_costs(policy: str, offers: int) -> list[float]:
    """Return the seconds of one offer that is taken, at each size."""
    memories = [filled(policy, size) for size in SIZES]
    times: list[list[float]] = [[] for _ in SIZES]
    for item in items(CLASSES + np.arange(offers) % CLASSES):
        for memory, taken in zip(memories, times, strict=True):
            elapsed = seconds(lambda memory=memory, item=item: memory.offer([item]))
            if memory.items[-1].id == item.id:  # what enters is last
                taken.append(elapsed)
    return [statistics.median(taken) for taken in times]


def insertions(offers: int) -> Table:
    table = Table("policy", *(f"{size:,} items" for size in SIZES), "exponent", title="µs to insert an item when full")
    for policy in MEMORIES:
        costs = insertion_costs(policy, offers)
        slope = np.polyfit(np.log(SIZES), np.log(costs), 1)[0]
        table.add_row(policy, *(f"{1e6 * cost:.1f}" for cost in costs), f"{slope:.2f}")
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
    if arguments.data_root:
        samples = load_dataset("voc", arguments.data_root).test[: arguments.images]
        images = read_images((sample.path for sample in samples), 200)
        console.print(codecs(images))
        console.print(codecs(images[:, :, 41:137, 61:133]))


if __name__ == "__main__":
    main()
