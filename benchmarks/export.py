"""What an exported model keeps of a learner, and how fast it is: ONNX, in 32 and 8 bits, and Hugging Face beside torch.

    python benchmarks/export.py --data-root DATA --backbone FOLDER [--train 200] [--images 500]
    python benchmarks/export.py --data-root DATA --learner RUN

Teaches a learner VOC images, or takes a saved one, exports it, and lets every form of it answer for the same test
images: the largest difference of a probability from the learner's, mAP, size of the weights, images per second. All
use one thread and batches of the same size, in turns of one run: the fastest of the rounds counts.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from cuter import Batch, Learner, load_dataset, read_images
from cuter.export import to_huggingface, to_onnx
from cuter.export.check import mean_average_precision
from cuter.export.onnx_model import INPUT, open_onnx, run_onnx
from cuter.export.portable import PortableModel
from cuter.stream.samples import Sample, pick


def batch_of(samples: list[Sample], size: int, classes: tuple[str, ...]) -> Batch:
    images = read_images([sample.path for sample in samples], size)
    return Batch.of(images, [sorted(sample.labels) for sample in samples], known=classes)


def teach(backbone: str, samples: list[Sample], classes: tuple[str, ...]) -> Learner:
    learner = Learner.create("rs", backbone=backbone, device="cpu", memory={"images": 100}, head={"lr": 1e-2})
    for start in range(0, len(samples), 12):
        learner.observe(batch_of(samples[start : start + 12], learner.backbone.image_size, classes))
    return learner


def fastest(work: dict[str, Callable[[Tensor], object]], images: Tensor, rounds: int) -> dict[str, float]:
    """Return images per second of each, in turns, so that a slow minute of the machine is shared by all."""
    seconds = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, answer in work.items():
            start = time.perf_counter()
            answer(images)
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return {name: len(images) / taken for name, taken in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, required=True, help="folder that holds VOC 2007")
    parser.add_argument("--backbone", help="what a new learner is taught with")
    parser.add_argument("--learner", type=Path, help="a saved learner or a run, in place of a new one")
    parser.add_argument("--train", type=int, default=200, help="images that a new learner is taught")
    parser.add_argument("--images", type=int, default=500, help="test images")
    parser.add_argument("--batch", type=int, default=16, help="images that are timed together")
    parser.add_argument("--rounds", type=int, default=5, help="how often they are timed")
    options = parser.parse_args()
    if not options.learner and not options.backbone:
        parser.error("give --backbone for a new learner, or --learner for a saved one")
    torch.set_num_threads(1)
    voc = load_dataset("voc", options.data_root)
    if options.learner:
        learner = Learner.load(options.learner, device="cpu")
    else:
        learner = teach(options.backbone, pick(voc.train, options.train), voc.classes)
    check = batch_of(pick(voc.test, options.images), learner.backbone.image_size, voc.classes)
    with tempfile.TemporaryDirectory() as place:
        onnx, hf = Path(place) / "onnx", Path(place) / "hf"
        to_onnx(learner, onnx, int8=True, check=check)
        found = to_huggingface(learner, hf, check=check).facts["check"]
        torch_model, sessions = PortableModel(learner), {}
        for name in ("model.onnx", "model.int8.onnx"):
            sessions[name] = open_onnx(onnx / name, threads=1)
        speed = fastest(
            {
                "torch": torch_model.probabilities,
                "model.onnx": lambda images: sessions["model.onnx"].run(None, {INPUT: images.numpy()}),
                "model.int8.onnx": lambda images: sessions["model.int8.onnx"].run(None, {INPUT: images.numpy()}),
            },
            check.images[: options.batch],
            options.rounds,
        )
        ours = learner.probabilities(check.images)
        weights = sum(4 * parameter.numel() for parameter in learner.model.parameters())
        print(f"{learner}\n{len(check)} test images; one thread, batches of {options.batch}\n")
        print("| model | weights, MB | largest difference | mean difference | mAP | images/s | times torch |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        average = mean_average_precision(ours, learner, check)
        print(f"| the learner (torch) | {weights / 1e6:.1f} | – | – | {average:.2f} | {speed['torch']:.1f} | 1 |")
        size = (hf / "model.safetensors").stat().st_size
        print(
            f"| Hugging Face | {size / 1e6:.1f} | {found['largest_difference']:.1e} | – | {found['map']:.2f} | – | – |"
        )
        for name in sessions:
            theirs = run_onnx(onnx / name, check.images, threads=1)
            difference = (ours - theirs).abs()
            average = mean_average_precision(theirs, learner, check)
            size = (onnx / name).stat().st_size
            print(
                f"| {name} | {size / 1e6:.1f} | {difference.max():.1e} | {difference.mean():.1e} | {average:.2f} | "
                f"{speed[name]:.1f} | {speed[name] / speed['torch']:.2f} |"
            )


if __name__ == "__main__":
    main()
