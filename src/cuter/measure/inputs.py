"""The one gate for what is measured: scores, labels and what is known of them, as arrays that fit together."""

from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cuter.errors import BatchError

Matrix: TypeAlias = NDArray[Any] | Tensor


def checked(
    scores: Matrix, labels: Matrix, known: Matrix | None
) -> tuple[NDArray[np.floating[Any]], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return scores, positives and known as arrays (images, classes), or say what is wrong with them.

    Unknown entries take part in nothing: their scores are not looked at, and they are never positives.
    """
    score_array, label_array = _array(scores), _array(labels)
    if score_array.ndim != 2 or not np.issubdtype(score_array.dtype, np.floating):
        raise BatchError(
            f"scores must be floats of shape (images, classes), not {score_array.dtype} {score_array.shape}"
        )
    # Without a mask all is known: a view of one single True costs no memory.
    known_array = np.broadcast_to(np.True_, score_array.shape) if known is None else _array(known)
    for name, array in (("labels", label_array), ("known", known_array)):
        if array.dtype != np.bool_ or array.shape != score_array.shape:
            raise BatchError(
                f"{name} must be bool of shape {score_array.shape} like the scores, not {array.dtype} {array.shape}"
            )
    # Written so that NaN, which fails every comparison, is a fault too.
    faults = known_array & ~((score_array >= 0) & (score_array <= 1))
    if faults.any():
        row, column = np.unravel_index(int(faults.argmax()), faults.shape)
        raise BatchError(
            f"the score in row {row}, column {column} is {score_array[row, column]}; scores must be "
            "probabilities from 0 to 1 (logits go through a sigmoid first)"
        )
    return score_array, label_array & known_array, known_array


def _array(matrix: Matrix) -> NDArray[Any]:
    if isinstance(matrix, Tensor):
        matrix = matrix.detach().cpu()
        # numpy has no bfloat16.
        return (matrix.float() if matrix.dtype == torch.bfloat16 else matrix).numpy()
    return np.asarray(matrix)
