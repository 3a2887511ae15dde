"""A model in use: its versions, tagging files, teaching, evaluating, forgetting."""

from cuter.models.description import describe
from cuter.models.evaluating import evaluate
from cuter.models.file_tagging import tag_files
from cuter.models.forgetting import forget, retrain
from cuter.models.image_paths import ImagePaths
from cuter.models.tagging import Asked, tag_batches
from cuter.models.teaching import TeachConfig, outline, teach
from cuter.models.thresholds import tune
from cuter.models.versions import ModelFolder

__all__ = [
    "Asked",
    "ImagePaths",
    "ModelFolder",
    "TeachConfig",
    "describe",
    "evaluate",
    "forget",
    "outline",
    "retrain",
    "tag_batches",
    "tag_files",
    "teach",
    "tune",
]
