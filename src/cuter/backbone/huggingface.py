"""Weights in Hugging Face layout: a local folder, or a repository of the hub."""

import copy
import json
import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError

from cuter.backbone.backbone import Backbone
from cuter.backbone.checkpoint import why_refused
from cuter.backbone.families import FAMILIES, class_named, make_config
from cuter.backbone.preprocessing import read_preprocessing
from cuter.backbone.report import LoadReport, require_all
from cuter.errors import BackboneError


def load_pretrained(source: str, name: str, features: str | None) -> Backbone:
    """Load a folder or a hub repository. An unreachable one raises OSError, for the caller to explain."""
    import transformers
    from transformers.utils import cached_file

    with quiet():
        fields, _ = transformers.PretrainedConfig.get_config_dict(source)
        config = make_config(fields, source)
        pooling = FAMILIES[fields["model_type"]].pooling
        file = cached_file(source, "preprocessor_config.json", _raise_exceptions_for_missing_entries=False)
        preprocessing, notes = read_preprocessing(Path(file) if file else None, getattr(config, "image_size", None))
        family = FAMILIES[config.model_type]
        model_class = class_named(family.model)
        try:
            encoder, info = model_class.from_pretrained(
                source, config=config, dtype=torch.float32, output_loading_info=True, **family.build
            )
        except (pickle.UnpicklingError, EOFError, SafetensorError) as error:
            raise BackboneError(
                f"{source}: its weights are refused: {why_refused(error)}. "
                "Ask where they come from for the same weights as safetensors, which can hold nothing else"
            ) from error
        except RuntimeError as error:
            raise BackboneError(f"{source}: its weights do not fit {family.model}: {error}") from error
    report = LoadReport(
        source=source,
        architecture=family.model,
        missing=require_all(source, sorted(info["missing_keys"])),
        left_over=tuple(sorted(info["unexpected_keys"])),
        notes=tuple(notes),
    )
    return Backbone(encoder, preprocessing, name=name, features=features, pooling=pooling, report=report)


def save_backbone(backbone: Backbone, folder: Path, *, half: bool = False) -> None:
    """Write a backbone as a folder that `load_backbone` reads, in half precision if asked to."""
    encoder = copy.deepcopy(backbone.encoder).half() if half else backbone.encoder
    with quiet():
        encoder.save_pretrained(folder)  # type: ignore[operator]
    fields = {
        "size": backbone.image_size,
        "image_mean": backbone.mean.flatten().tolist(),
        "image_std": backbone.std.flatten().tolist(),
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(fields), encoding="utf-8")


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from printing its own load report (ours is `Backbone.report`), bars and every retry."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging as model_logging

    verbosity, bar = model_logging.get_verbosity(), model_logging.is_progress_bar_enabled()
    hub_verbosity = hub_logging.get_verbosity()
    model_logging.set_verbosity_error()
    model_logging.disable_progress_bar()
    hub_logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        model_logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(hub_verbosity)
        if bar:
            model_logging.enable_progress_bar()
