"""A learner for other software: ONNX, Hugging Face."""
