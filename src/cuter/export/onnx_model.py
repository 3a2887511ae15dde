"""A learner as an ONNX file, which many runtimes read: no Python needed, nor torch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cuter.errors import ConfigError
from cuter.export.check import comparison, images_to_check, require_equal
from cuter.export.exported import Exported
from cuter.export.facts import facts_of, short_name
from cuter.export.folder import export_folder, read_exported, write_facts
from cuter.export.portable import PortableModel
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch

OPSET = 20  # the first with GELU as one operation
TOLERANCE = 1e-3
INPUT, OUTPUT = "images", "probabilities"
FLOAT, INT8 = "model.onnx", "model.int8.onnx"


def to_onnx(
    learner: Learner, folder: str | PathLike[str], *, int8: bool = False, check: Batch | None = None
) -> Exported:
    """Write a learner as `model.onnx`: uint8 RGB images (B, 3, S, S) in, calibrated probabilities (B, C) out.

    Scaling and normalising of pixels, the head and the calibration are in the graph. Images are resized before, as
    `model.json` says, which also has the labels. onnxruntime answers for the check images, and a file that does not
    say what the learner says is not left behind. Any head and backbone will do; regions of images are not looked at.

    Args:
        learner: A learner that knows at least one class.
        folder: Where the files go: a new or empty folder, or that of an earlier export.
        int8: Write `model.int8.onnx` as well, with the weights of matrix products as whole numbers of 8 bits. It is
            smaller, and differs from the learner: how much is in the result.
        check: Labelled images for the check; by default random ones. With labels, mAP is measured too.

    Returns:
        The files, and what the check found.

    Raises:
        ConfigError: The extra 'onnx' is not installed, the learner knows no class, or the folder is in use.
        CuterError: The exported model does not say what the learner says.

    Examples:
        >>> import tempfile, torch
        >>> from cuter import Batch, Learner
        >>> from cuter.export import to_onnx
        >>> learner = Learner.create(backbone="toybox", device="cpu")
        >>> step = learner.observe(Batch.of(torch.zeros(1, 3, 96, 96, dtype=torch.uint8), [["cat"]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = to_onnx(learner, f"{folder}/cats")
        >>> list(exported.files), exported.largest_difference < 1e-3
        (['model.json', 'model.onnx'], True)
    """
    _require_packages()
    if int8 and learner.backbone.is_cnn:
        raise ConfigError(
            f"{short_name(learner.backbone.name)} is a CNN, and 8 bits are for matrix products, of which it has one: "
            "drop --int8"
        )
    model, images = PortableModel(learner), images_to_check(learner, check)
    ours = model.probabilities(images)
    facts = facts_of(learner, "onnx") | {
        "opset": OPSET,
        "input": {"name": INPUT, "type": "uint8", "shape": ["batch", *images.shape[1:]]},
        "output": {"name": OUTPUT, "type": "float32", "shape": ["batch", len(learner.labels)]},
    }
    with export_folder(folder) as new:
        _write(model, new / FLOAT, learner)
        facts["check"] = comparison(ours, run_onnx(new / FLOAT, images), learner, check)
        require_equal(facts["check"], TOLERANCE)
        if int8:
            _quantise(new / FLOAT, new / INT8)
            facts["check_int8"] = comparison(ours, run_onnx(new / INT8, images), learner, check)
        write_facts(new, facts)
    return read_exported(folder, facts)


def run_onnx(file: Path, images: Tensor, batch_size: int = 16) -> Tensor:
    """Return what onnxruntime says of uint8 images (B, 3, S, S) of the model's size."""
    session = open_onnx(file)
    parts = [session.run([OUTPUT], {INPUT: part.numpy()})[0] for part in torch.split(images, batch_size)]
    return torch.cat([torch.from_numpy(part) for part in parts])


def open_onnx(file: Path, threads: int = 0) -> Any:
    """Return a session of onnxruntime on the CPU, with so many threads; 0: as it likes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def _write(model: PortableModel, file: Path, learner: Learner) -> None:
    size = learner.backbone.image_size
    example = torch.zeros(2, 3, size, size, dtype=torch.uint8)  # a batch of 1 would be taken for a fixed size
    try:
        with _quiet(), torch.no_grad():
            torch.onnx.export(
                model,
                (example,),
                file,
                dynamo=True,
                opset_version=OPSET,
                input_names=[INPUT],
                output_names=[OUTPUT],
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                external_data=False,
                verbose=False,
            )
    except (torch.onnx.OnnxExporterError, torch.onnx.errors.OnnxExporterError) as error:
        reason = str(error.__cause__ or error).strip().splitlines()[0]
        raise ConfigError(
            f"the head {learner.settings.head.kind!r} on {short_name(learner.backbone.name)} cannot be written as ONNX "
            f"(opset {OPSET}): {reason}"
        ) from error


def _quantise(file: Path, target: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(file)
    del model.graph.value_info[:]  # shapes, which the quantiser infers anew once it has turned weights
    with _quiet():
        # Convolutions in 8 bits are slower than in 32 on most CPUs. Seven bits of weights are exact everywhere: sums of
        # eight overflow on CPUs without instructions for them.
        quantize_dynamic(
            model,
            target,
            op_types_to_quantize=["MatMul", "Gemm"],
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=_after_gelu(model),
        )


def _after_gelu(model: Any) -> list[str]:
    """Return the names of matrix products of what comes out of a GELU.

    A few of those numbers are far larger than all others, which share what is left of 256 steps. In ViT-Tiny they make
    five sixths of all that eight bits change in its probabilities, and hold a third of its weights.
    """
    outputs = {name for node in model.graph.node if node.op_type == "Gelu" for name in node.output}
    return [node.name for node in model.graph.node if node.op_type == "MatMul" and node.input[0] in outputs]


def _require_packages() -> None:
    for name in ("onnx", "onnxruntime", "onnxscript"):
        try:
            import_module(name)
        except ImportError as error:
            raise ConfigError(f"export to ONNX needs {name} ({error}):  pip install 'cuter[onnx]'") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter from talking of packages that it would use for other models, and of its own future."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
