import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cuter.learn.keepers.selection import (
    KEPT,
    OTHER_LABEL,
    TWO_LABELS,
    UNSURE,
    Candidates,
    as_in_published_code,
    by_thresholds,
    lacking,
    relative_to_image,
    thresholds_by_frequency,
)


def candidates(
    scores: list[list[float]],
    labels: list[list[int]],
    known: list[list[int]] | None = None,
    image: list[list[float]] | None = None,
) -> Candidates:
    given = torch.tensor(labels, dtype=torch.bool)
    return Candidates(
        torch.tensor(scores),
        torch.tensor(image or scores),
        given,
        torch.ones_like(given) if known is None else torch.tensor(known, dtype=torch.bool),
    )


@pytest.mark.parametrize(
    ("scores", "labels", "column", "reason"),
    [
        ([0.9, 0.2, 0.1], [1, 0, 0], 0, KEPT),
        ([0.9, 0.2, 0.1], [0, 1, 0], 0, OTHER_LABEL),
        ([0.7, 0.2, 0.1], [1, 0, 0], 0, UNSURE),
        ([0.6, 0.7, 0.1], [1, 1, 0], 1, UNSURE),  # unsure comes before two labels
        ([0.9, 0.5, 0.1], [1, 0, 0], 0, TWO_LABELS),  # 'below 0.5' leaves 0.5 out
        ([0.9, 0.6, 0.1], [1, 1, 0], 0, TWO_LABELS),  # also if the second is a given label
        ([0.1, 0.2, 0.6], [0, 0, 1], 2, KEPT),  # scarce: its threshold is τ1
        ([0.8, 0.2, 0.1], [1, 0, 0], 0, UNSURE),  # 'above' leaves the threshold itself out
    ],
)
def test_the_rule_of_the_paper(scores: list[float], labels: list[int], column: int, reason: str) -> None:
    thresholds = torch.tensor([0.8, 0.8, 0.55])
    verdicts = by_thresholds(candidates([scores], [labels]), thresholds)
    assert verdicts.columns.tolist() == [column]
    assert verdicts.reasons == [reason]


def test_the_rule_of_the_paper_looks_at_all_classes_seen_also_at_unknown_ones() -> None:
    """An old class that nobody looks for any more keeps its high score: that is what starves memory."""
    verdicts = by_thresholds(candidates([[0.9, 0.6]], [[1, 0]], known=[[1, 0]]), torch.tensor([0.8, 0.8]))
    assert verdicts.reasons == [TWO_LABELS]


def test_one_class_has_no_second() -> None:
    assert by_thresholds(candidates([[0.9]], [[1]]), torch.tensor([0.8])).reasons == [KEPT]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12))
def test_thresholds_by_frequency(counts: list[int]) -> None:
    found = thresholds_by_frequency(torch.tensor(counts), 0.25, 0.75).tolist()
    assert found == [0.25 if 2 * count < max(counts) else 0.75 for count in counts]


def test_memory_lacks_all_classes_at_the_start() -> None:
    assert lacking(torch.tensor([0, 0])).all()


@pytest.mark.parametrize(
    ("scores", "image", "given_known", "verdict"),
    [
        ([0.4, 0.1], [0.4, 0.3], ([1, 0], [1, 1]), (0, KEPT)),  # low scores are no obstacle: as certain as the image
        ([0.39, 0.1], [0.4, 0.3], ([1, 0], [1, 1]), (0, KEPT)),  # or hardly less
        ([0.37, 0.1], [0.4, 0.3], ([1, 0], [1, 1]), (0, UNSURE)),
        ([0.4, 0.37], [0.3, 0.3], ([1, 0], [1, 1]), (0, TWO_LABELS)),
        ([0.4, 0.5], [0.3, 0.3], ([1, 0], [1, 1]), (0, OTHER_LABEL)),
        ([0.4, 0.9], [0.3, 0.3], ([1, 0], [1, 0]), (0, KEPT)),  # what nobody looks for does not count
        ([0.4, 0.6], [0.3, 0.7], ([1, 1], [1, 1]), (1, UNSURE)),  # the given label with the highest score
    ],
)
def test_relative_to_the_image(
    scores: list[float], image: list[float], given_known: tuple[list[int], list[int]], verdict: tuple[int, str]
) -> None:
    labels, known = given_known
    verdicts = relative_to_image(candidates([scores], [labels], [known], [image]))
    assert (verdicts.columns.item(), *verdicts.reasons) == verdict


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_what_is_kept_is_always_a_given_label(count: int, classes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    known = torch.rand(count, classes, generator=generator) < 0.7
    some = Candidates(
        torch.rand(count, classes, generator=generator),
        torch.rand(count, classes, generator=generator),
        known & (torch.rand(count, classes, generator=generator) < 0.5),
        known,
    )
    for verdicts in (by_thresholds(some, torch.full((classes,), 0.3)), relative_to_image(some)):
        for row, (column, reason) in enumerate(zip(verdicts.columns.tolist(), verdicts.reasons, strict=True)):
            assert reason != KEPT or some.labels[row, column]


@pytest.mark.parametrize(
    ("scores", "labels", "scarce", "columns", "reason"),
    [
        ([0.2, 0.1, 0.1], [1, 0, 0], [0, 0, 0], {0}, KEPT),  # no threshold
        ([0.2, 0.3, 0.1], [1, 0, 0], [0, 0, 0], {1}, OTHER_LABEL),
        ([0.9, 0.8, 0.1], [1, 1, 0], [0, 0, 0], {0}, KEPT),  # a second object does not matter
        ([0.9, 0.1, 0.1], [1, 1, 1], [0, 1, 1], {1, 2}, KEPT),  # drawn among what memory lacks, whatever it shows
        ([0.5, 0.1, 0.1], [1, 1, 0], [0, 1, 0], {1}, UNSURE),
        ([0.9, 0.1, 0.1], [0, 1, 0], [0, 1, 0], {1}, KEPT),
    ],
)
def test_the_rule_of_the_published_code(
    scores: list[float], labels: list[int], scarce: list[int], columns: set[int], reason: str
) -> None:
    generator = torch.Generator().manual_seed(0)
    given, lacks = candidates([scores] * 40, [labels] * 40), torch.tensor(scarce, dtype=torch.bool)
    verdicts = as_in_published_code(given, lacks, generator)
    assert set(verdicts.columns.tolist()) == columns
    assert set(verdicts.reasons) == {reason}
