"""A learner for other software: ONNX, Hugging Face."""

from cuter.export.exported import Exported
from cuter.export.huggingface import to_huggingface
from cuter.export.onnx_model import to_onnx

__all__ = ["Exported", "to_huggingface", "to_onnx"]
