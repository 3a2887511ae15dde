"""A learner as a folder in Hugging Face layout, which transformers' pipelines read without this package."""

from __future__ import annotations

import copy
import json
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn

from cuter.backbone.families import CLASS_TOKEN, PATCH_MEAN, class_named
from cuter.backbone.huggingface import quiet
from cuter.errors import ConfigError
from cuter.export.card import model_card
from cuter.export.check import comparison, images_to_check, require_equal
from cuter.export.exported import Exported
from cuter.export.facts import facts_of, short_name
from cuter.export.folder import export_folder, read_exported, write_facts
from cuter.export.linear import as_linear
from cuter.export.portable import PortableModel
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch

TOLERANCE = 1e-4
USE_ONNX = "export it with --to onnx (cuter.export.to_onnx)"

# The class of transformers for each type of encoder, and what stands for the image there: parts side by side.
CLASSIFIERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "vit": ("ViTForImageClassification", (CLASS_TOKEN,)),
    "deit": ("DeiTForImageClassification", (CLASS_TOKEN,)),
    "dinov2": ("Dinov2ForImageClassification", (CLASS_TOKEN, PATCH_MEAN)),
    "dinov2_with_registers": ("Dinov2WithRegistersForImageClassification", (CLASS_TOKEN, PATCH_MEAN)),
    "resnet": ("ResNetForImageClassification", (PATCH_MEAN,)),
}


def to_huggingface(learner: Learner, folder: str | PathLike[str], *, check: Batch | None = None) -> Exported:
    """Write a learner as a folder that `transformers.pipeline("image-classification", …)` loads, without this package.

    The calibration is folded into the classifier, so that the pipeline's sigmoid gives calibrated probabilities. The
    folder has weights, configuration, how images are prepared, `model.json` and a model card. It is loaded again, and
    if it does not say what the learner says, it is not left behind.

    Args:
        learner: A learner that knows at least one class, with a head that is a linear layer, on an encoder that
            transformers has a classifier for.
        folder: Where the files go: a new or empty folder, or that of an earlier export.
        check: Labelled images for the check; by default random ones. With labels, mAP is measured too.

    Returns:
        The files, and what the check found.

    Raises:
        ConfigError: No class of transformers computes the same, the learner knows no class, or the folder is in use.
        CuterError: The exported model does not say what the learner says.

    Examples:
        >>> import tempfile, torch
        >>> from cuter import Batch, Learner
        >>> from cuter.backbone import untrained_vit
        >>> from cuter.export import to_huggingface
        >>> learner = Learner.create(backbone=untrained_vit(), device="cpu")
        >>> step = learner.observe(Batch.of(torch.zeros(1, 3, 32, 32, dtype=torch.uint8), [["cat"]]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = to_huggingface(learner, f"{folder}/cats")
        >>> sorted(exported.files)
        ['README.md', 'config.json', 'model.json', 'model.safetensors', 'preprocessor_config.json']
    """
    model = PortableModel(learner)
    classifier, images = _classifier(model, learner), images_to_check(learner, check)
    facts = facts_of(learner, "huggingface")
    with export_folder(folder) as new:
        with quiet():
            classifier.save_pretrained(new)
        (new / "preprocessor_config.json").write_text(_preprocessing(learner), encoding="utf-8")
        facts["check"] = comparison(model.probabilities(images), run_folder(new, images), learner, check)
        require_equal(facts["check"], TOLERANCE)
        (new / "README.md").write_text(model_card(facts), encoding="utf-8")
        write_facts(new, facts)
    return read_exported(folder, facts)


def run_folder(folder: Path, images: Tensor, batch_size: int = 16) -> Tensor:
    """Return what transformers, given an exported folder, says of uint8 images (B, 3, H, W)."""
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    with quiet():
        processor = AutoImageProcessor.from_pretrained(folder)
        model = AutoModelForImageClassification.from_pretrained(folder).eval()
    parts = []
    with torch.no_grad():
        for part in torch.split(images, batch_size):
            pictures = [Image.fromarray(image.permute(1, 2, 0).numpy()) for image in part]
            parts.append(torch.sigmoid(model(**processor(pictures, return_tensors="pt")).logits))
    return torch.cat(parts)


def _classifier(model: PortableModel, learner: Learner) -> Any:
    """Return the model of transformers that computes the same, or say why there is none."""
    backbone = model.model.backbone
    name = short_name(backbone.name)
    encoder: Any = backbone.encoder
    kind = encoder.config.model_type
    if kind not in CLASSIFIERS:
        raise ConfigError(
            f"transformers has no image classifier of type {kind!r}, which {name} is "
            f"(it has: {', '.join(CLASSIFIERS)}): {USE_ONNX}"
        )
    class_name, reads = CLASSIFIERS[kind]
    if backbone.pooling not in reads:
        raise ConfigError(
            f"{class_name} reads the {reads[0]}, and the learner reads the {backbone.pooling} of {name}: {USE_ONNX}"
        )
    found = as_linear(model.model.head, backbone.embedding_dim)
    if found is None:
        raise ConfigError(
            f"the head {learner.settings.head.kind!r} is not a linear layer on the embedding, and {class_name} has "
            f"nothing else: {USE_ONNX}"
        )
    weight, bias = found
    weight, bias = model.slope.unsqueeze(1) * weight, model.slope * bias + model.offset
    classifier = class_named(class_name)(_config(encoder, learner))
    getattr(classifier, classifier.base_model_prefix).load_state_dict(encoder.state_dict())
    _take_size(classifier, encoder, backbone.image_size)
    layer = classifier.classifier if isinstance(classifier.classifier, nn.Linear) else classifier.classifier[-1]
    with torch.no_grad():
        layer.weight.copy_(torch.cat([weight * (part == backbone.pooling) for part in reads], dim=1))
        layer.bias.copy_(bias)
    return classifier.eval()


def _config(encoder: Any, learner: Learner) -> Any:
    config = copy.deepcopy(encoder.config)
    config.id2label = dict(enumerate(learner.labels.names))
    config.label2id = {name: number for number, name in config.id2label.items()}
    config.problem_type = "multi_label_classification"
    config.name_or_path = ""  # where the encoder lay
    return config


def _take_size(classifier: Any, encoder: Any, size: int) -> None:
    """Give a transformer positions for images of the learner's size: a pipeline does not ask it to interpolate."""
    config = classifier.config
    if config.model_type not in ("vit", "deit") or config.image_size == size:
        return
    embeddings = encoder.embeddings
    before = embeddings.position_embeddings.shape[1] - embeddings.patch_embeddings.num_patches
    count = before + (size // config.patch_size) ** 2
    with torch.no_grad():
        tokens = torch.zeros(1, count, config.hidden_size)
        positions = embeddings.interpolate_pos_encoding(tokens, size, size)
    own = getattr(classifier, classifier.base_model_prefix).embeddings
    own.position_embeddings = nn.Parameter(positions.clone())
    config.image_size = size


def _preprocessing(learner: Learner) -> str:
    """Return what the image processors of transformers read, with or without torchvision."""
    seen = learner.backbone.describe()
    fields = {
        "image_processor_type": "ViTImageProcessor",  # of all families: it does these three things and nothing else
        "do_resize": True,
        "size": {"height": seen["image_size"], "width": seen["image_size"]},
        "resample": int(Image.Resampling.BILINEAR),
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": seen["mean"],
        "image_std": seen["std"],
    }
    return json.dumps(fields, indent=2) + "\n"
