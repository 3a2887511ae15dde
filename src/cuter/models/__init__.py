"""A model in use: its versions, tagging files, teaching, evaluating, forgetting."""

from cuter.models.description import describe
from cuter.models.forgetting import forget, retrain
from cuter.models.teaching import TeachConfig, outline, teach
from cuter.models.versions import ModelFolder

__all__ = ["ModelFolder", "TeachConfig", "describe", "forget", "outline", "retrain", "teach"]
