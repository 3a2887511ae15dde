"""Whether two learners predict the same: a digest of all that a prediction depends on."""

from __future__ import annotations

import hashlib
import json

import torch
from torch import Tensor

from cuter.learn.learner import Learner

ORIGIN = ("_name_or_path", "transformers_version")  # where a backbone came from, not what it does


def fingerprint(learner: Learner) -> str:
    """Return a digest of weights, classes, calibration and how images are looked at; not of memory or optimiser.

    Examples:
        >>> from cuter import Learner
        >>> from cuter.models.fingerprint import fingerprint
        >>> one, other = (Learner.create(backbone="toybox", device="cpu") for _ in range(2))
        >>> fingerprint(one) == fingerprint(other)
        True
    """
    settings, backbone = learner.settings, learner.backbone.describe()
    config = {name: value for name, value in backbone["config"].items() if name not in ORIGIN}
    facts = {
        "backbone": backbone | {"name": None, "config": config},
        "classes": learner.labels.names,
        "calibration": learner.calibration.state_dict(),
        "predictor": settings.predictor.model_dump(mode="json"),
        "cut": str(learner.cut_settings),
        "precision": settings.precision,
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode())
    for name, value in learner.model.state_dict().items():
        digest.update(f"\n{name} ".encode())
        if isinstance(value, Tensor):
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        else:
            digest.update(repr(value).encode())
    return digest.hexdigest()
