"""How much of the speed of bare forwards is left when files are tagged, and whether memory stays flat.

    python benchmarks/predict_throughput.py speed MODEL --folder VOCdevkit/VOC2007/JPEGImages
    python benchmarks/predict_throughput.py memory --folder VOCdevkit/VOC2007/JPEGImages --images 100000

`speed` times forwards over tensors that are decoded already, and `tag_files` over the files that they were decoded
from: at the same batch size, one torch thread each, in turns, in one run. What it prints is the ratio of the medians,
of wall time and of this process's own CPU time, which other programs on the machine hardly change.
`memory` tags hard links to some of the files with a small untrained backbone, and prints resident memory on the way.
"""

import argparse
import itertools
import multiprocessing
import os
import statistics
import tempfile
import time
from pathlib import Path

import torch

from cuter import Learner, read_images
from cuter.backbone import untrained_vit
from cuter.models.file_tagging import tag_files
from cuter.models.image_paths import ImagePaths

MEGABYTE = 1e6


def clocks() -> tuple[float, float]:
    """Return wall time, and the CPU time of this process without its workers."""
    return time.perf_counter(), time.process_time()


def bare(learner: Learner, images: torch.Tensor, batch_size: int) -> None:
    """Carry out forwards alone."""
    with learner.model.inference():
        for start in range(0, len(images), batch_size):
            torch.sigmoid(learner.model.predict_logits(images[start : start + batch_size]).float())


def speed(given: argparse.Namespace) -> None:
    learner = Learner.load(given.model, device="cpu")
    paths = list(itertools.islice(ImagePaths([given.folder]), given.images or 512))
    images = read_images(paths, learner.backbone.image_size)
    bare(learner, images[: given.batch_size], given.batch_size)  # the first forward allocates
    with tempfile.TemporaryDirectory() as folder:
        options = {"batch_size": given.batch_size, "workers": given.workers, "overwrite": True}
        ways = {
            "bare": lambda: bare(learner, images, given.batch_size),
            "tagged": lambda: tag_files(learner, paths, Path(folder, "tags.csv"), **options),
        }
        times: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for number in range(given.rounds):
            for way, carry_out in ways.items():
                before = clocks()
                carry_out()
                wall, own = (after - start for after, start in zip(clocks(), before, strict=True))
                times[way].append((wall, own))
                print(f"round {number + 1}, {way}: {wall:.1f} s, {own:.1f} s of CPU time", flush=True)
    for place, what in enumerate(("wall time", "CPU time")):
        bare_time, tagged_time = (statistics.median(one[place] for one in times[way]) for way in ways)
        print(f"{what}: {len(paths) / tagged_time:.1f} images/s, {bare_time / tagged_time:.3f} of bare forwards")


def resident(process: int) -> float:
    """Return the resident memory of a process in megabytes (Linux)."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def memory(given: argparse.Namespace) -> None:
    count = given.images or 100_000
    backbone = untrained_vit(image_size=32, patch_size=16, dim=16, depth=1, heads=2)
    learner = Learner.create("rs", backbone=backbone, device="cpu", memory={"images": 1})
    learner.grow([f"class {number}" for number in range(20)])
    marks = {round(share * count): f"{share:.0%}" for share in (0.02, 0.25, 0.5, 0.75, 1.0)}

    def progress(done: int) -> None:
        if marks and done >= next(iter(marks)):
            own, others = resident(os.getpid()), [resident(one.pid) for one in multiprocessing.active_children()]
            print(f"{marks.pop(next(iter(marks)))}: {own:.0f} MB, workers {sum(others):.0f} MB", flush=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, source in enumerate(itertools.islice(ImagePaths([given.folder]), 20)):
            copy = folder / f"{number}{source.suffix}"
            copy.write_bytes(source.read_bytes())
            for link in range(count // 20):
                place = folder / "photos" / f"{link % 100:02d}"
                place.mkdir(parents=True, exist_ok=True)
                os.link(copy, place / f"{link:05d}-{number:02d}{source.suffix}")
        started = time.perf_counter()
        images = ImagePaths([folder / "photos"])
        summary = tag_files(learner, images, folder / "tags.csv", workers=given.workers, progress=progress)
        print(f"after the file was written: {resident(os.getpid()):.0f} MB")
        print(f"{summary.images} images in {time.perf_counter() - started:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for what in (speed, memory):
        command = commands.add_parser(what.__name__)
        command.set_defaults(what=what)
        command.add_argument("--folder", type=Path, required=True, help="where images are")
        command.add_argument("--images", type=int, help="how many of them: 512 for speed, 100,000 for memory")
        command.add_argument("--workers", type=int, default=1)
    commands.choices["speed"].add_argument("model", type=Path)
    commands.choices["speed"].add_argument("--batch-size", type=int, default=64)
    commands.choices["speed"].add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.what(given)


if __name__ == "__main__":
    main()
