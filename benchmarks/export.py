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
from cuter.export.onnx_model import FLOAT, INPUT, INT8, open_onnx
from cuter.export.portable import PortableModel
from cuter.stream.samples import Sample, pick


def batch_of(samples: list[Sample], size: int, classes: tuple[str, ...]) -> Batch:
    images = read_images([sample.path for sample in samples], size)
    return Batch.of(images, [sorted(sample.labels) for sample in samples], known=classes)


def teach(backbone: str, samples: list[Sample], classes: tuple[str, ...], held_back: int) -> Learner:
    """Teach all but a few samples, which are for calibration."""
    learner = Learner.create("rs", backbone=backbone, device="cpu", memory={"images": 100})
    size, samples = learner.backbone.image_size, [samples[i] for i in torch.randperm(len(samples)).tolist()]
    for start in range(held_back, len(samples), 12):
        learner.observe(batch_of(samples[start : start + 12], size, classes))
    learner.calibrate(batch_of(samples[:held_back], size, classes))
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
    parser.add_argument("--calibrate", type=int, default=100, help="further images that it is calibrated with")
    parser.add_argument("--images", type=int, default=500, help="test images")
    parser.add_argument("--batch", type=int, default=16, help="images that are timed together")
    parser.add_argument("--rounds", type=int, default=5, help="how often they are timed")
    options = parser.parse_args()
    if not options.learner and not options.backbone:
        parser.error("give --backbone for a new learner, or --learner for a saved one")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    voc = load_dataset("voc", options.data_root)
    if options.learner:
        learner = Learner.load(options.learner, device="cpu")
    else:
        learner = teach(
            options.backbone, pick(voc.train, options.train + options.calibrate), voc.classes, options.calibrate
        )
    check = batch_of(pick(voc.test, options.images), learner.backbone.image_size, voc.classes)
    with tempfile.TemporaryDirectory() as place:
        onnx, hf = Path(place) / "onnx", Path(place) / "hf"
        written = to_onnx(learner, onnx, int8=True, check=check)
        folder = to_huggingface(learner, hf, check=check)
        model = PortableModel(learner)
        float32, int8 = (open_onnx(onnx / name, threads=1) for name in (FLOAT, INT8))
        speed = fastest(
            {
                "torch": lambda images: model.probabilities(images, options.batch),
                FLOAT: lambda images: float32.run(None, {INPUT: images.numpy()}),
                INT8: lambda images: int8.run(None, {INPUT: images.numpy()}),
            },
            check.images[: options.batch],
            options.rounds,
        )
    weights = sum(4 * parameter.numel() for parameter in learner.model.parameters())
    average = folder.facts["check"]["map_of_the_learner"]
    print(f"{learner}\n{len(check)} test images; one thread, batches of {options.batch}\n")
    print("| model | weights, MB | largest difference | mean difference | mAP | images/s | times torch |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    print(f"| the learner, in torch | {weights / 1e6:.1f} | – | – | {average:.2f} | {speed['torch']:.1f} | 1 |")
    for name, size, found in (
        ("model.safetensors", folder.files["model.safetensors"], folder.facts["check"]),
        (FLOAT, written.files[FLOAT], written.facts["check"]),
        (INT8, written.files[INT8], written.facts["check_int8"]),
    ):
        fast = f"{speed[name]:.1f} | {speed[name] / speed['torch']:.2f}" if name in speed else "– | –"
        print(
            f"| `{name}` | {size / 1e6:.1f} | {found['largest_difference']:.1e} | {found['mean_difference']:.1e} | "
            f"{found['map']:.2f} | {fast} |"
        )


if __name__ == "__main__":
    main()
