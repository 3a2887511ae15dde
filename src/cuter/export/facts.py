"""What every exported model says of itself in `model.json`."""

from pathlib import Path
from typing import Any

from cuter import __version__
from cuter.learn.learner import Learner

THRESHOLD = 0.5  # of a calibrated probability
WHOLE_IMAGES_ONLY = (
    "The learner predicts with {!r}. The exported model looks at whole images alone, so its probabilities are those of "
    "the learner with the predictor 'whole'."
)


def facts_of(learner: Learner, kind: str) -> dict[str, Any]:
    """Return all that somebody needs who has the exported model and not the learner."""
    seen = learner.backbone.describe()
    size, names = learner.backbone.image_size, learner.labels.names
    predictor = learner.settings.predictor.kind
    return {
        "cuter": __version__,
        "format": kind,
        "labels": list(names),
        "threshold": THRESHOLD,
        "image_size": size,
        "preprocessing": {
            "colours": "RGB",
            "resize": {"height": size, "width": size, "resampling": "bilinear with antialias", "keeps_ratio": False},
            "mean": seen["mean"],
            "std": seen["std"],
        },
        "method": learner.settings.method,
        "backbone": short_name(learner.backbone.name),
        "images_learned": learner.images,
        "label_counts": {name: int(learner.label_counts[name]) for name in names},
        "calibration_images": learner.calibration.images,
        "notes": [] if predictor == "whole" else [WHOLE_IMAGES_ONLY.format(predictor)],
    }


def short_name(backbone: str) -> str:
    """Return a name or hub id as it is, and of a path its last part: where it lay is nobody else's business."""
    place = Path(backbone)
    is_path = place.is_absolute() or len(place.parts) > 2 or backbone.startswith((".", "~"))
    return place.name if is_path else backbone
