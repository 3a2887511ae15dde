"""Average precision of each class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def average_precision(
    scores: NDArray[np.floating[Any]], positives: NDArray[np.bool_], known: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the area under the step-wise precision-recall curve of each column, NaN where there is no positive.

    Each positive adds the precision at its own score: among the known images that score at least as high, the
    share of positives. Equal scores thus are one threshold, as in scikit-learn's `average_precision_score`,
    which is not used because it takes no mask and is several times slower over many classes.

    Takes what `inputs.checked` returns.
    """
    ap = np.full(scores.shape[1], np.nan)
    for column in np.flatnonzero(positives.any(axis=0)):
        column_scores = scores[:, column]
        ranked = np.sort(column_scores[known[:, column]])
        hits = np.sort(column_scores[positives[:, column]])
        known_above = len(ranked) - np.searchsorted(ranked, hits, side="left")
        hits_above = len(hits) - np.searchsorted(hits, hits, side="left")
        ap[column] = np.mean(hits_above / known_above)
    return ap
