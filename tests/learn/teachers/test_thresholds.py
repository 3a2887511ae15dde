"""Controllers on made-up streams: they come to the rate that is asked for."""

import pytest
import torch

from cuter.learn.teachers.thresholds import HIGHEST, LOWEST, START, RunningThreshold, Thresholds, ThresholdsByClass


def scores(seed: int, images: int = 12, classes: int = 8, scale: float = 1.5, shift: float = 0.5) -> torch.Tensor:
    """Scores as a model gives them: most low, some high, whose level is unknown to the controller."""
    return torch.sigmoid(shift + scale * torch.randn(images, classes, generator=torch.Generator().manual_seed(seed)))


def labels_an_image(one: Thresholds, batches: int, **kinds: float) -> float:
    """Let a controller follow a stream, and return the pseudo-labels an image over its last half."""
    found = []
    for seed in range(batches):
        some = scores(seed, **kinds)  # type: ignore[arg-type]
        found.append((some > one.follow(some, torch.ones_like(some, dtype=torch.bool))).sum().item() / len(some))
    return sum(found[batches // 2 :]) / (batches - batches // 2)


@pytest.mark.parametrize("shift", [-2.0, 0.5, 3.0])
@pytest.mark.parametrize("rate", [0.07, 0.25])
def test_the_running_threshold_reaches_its_target(rate: float, shift: float) -> None:
    """0.07 · 8 old classes = 0.56 labels an image, within KRT's tolerance of 0.1, wherever the scores lie."""
    assert labels_an_image(RunningThreshold(rate), 400, shift=shift) == pytest.approx(8 * rate, abs=0.1)


def test_it_starts_at_krts_threshold_and_moves_by_krts_steps() -> None:
    one = RunningThreshold(0.07)
    before = START
    for seed in range(30):
        some = scores(seed, shift=3)  # far too many labels
        (used,) = one.follow(some, torch.ones_like(some, dtype=torch.bool)).unique().tolist()
        assert used == pytest.approx(before)
        assert one.threshold == pytest.approx(before + 0.005)
        before = one.threshold


def test_it_rests_within_its_tolerance() -> None:
    one = RunningThreshold(0.5)
    half = torch.tensor([[0.9, 0.1]]).repeat(10, 1)
    for _ in range(20):
        one.follow(half, torch.ones(10, 2, dtype=torch.bool))
    assert one.threshold == START


@pytest.mark.parametrize(("score", "end"), [(1.0, HIGHEST), (0.0, LOWEST)])
def test_it_keeps_its_limits(score: float, end: float) -> None:
    one = RunningThreshold(0.5)
    for _ in range(400):
        one.follow(torch.full((4, 8), score), torch.ones(4, 8, dtype=torch.bool))
    assert one.threshold == end


def test_what_is_known_is_not_counted() -> None:
    """Two classes that somebody looked for score high; the others are at their target rate of 0."""
    one = RunningThreshold(0.01)
    asked = torch.tensor([[False, False, True, True]]).repeat(6, 1)
    some = torch.tensor([[0.99, 0.99, 0.1, 0.1]]).repeat(6, 1)
    for _ in range(50):
        one.follow(some, asked)
    assert one.threshold == START
    one.follow(some, torch.zeros(6, 4, dtype=torch.bool))
    assert one.surplus == pytest.approx(-0.02, abs=1e-3), "nothing to see changes nothing"


def test_thresholds_by_class_reach_the_share_of_each_class() -> None:
    """Given 30 : 10 : 0, of 3 · 0.1 = 0.3 labels an image the first gets 0.225, the second 0.075, the third none."""
    one = ThresholdsByClass(0.1)
    labels = torch.zeros(40, 3, dtype=torch.bool)
    labels[:30, 0] = labels[30:, 1] = True
    one.count(labels)
    asked = torch.ones(12, 3, dtype=torch.bool)
    rates = []
    for seed in range(2000):
        some = scores(seed, classes=3) * torch.tensor([1.0, 0.7, 0.5])  # each on a level of its own
        rates.append((some > one.follow(some, asked)).float().mean(dim=0))
    assert torch.stack(rates[1000:]).mean(dim=0).tolist() == pytest.approx([0.225, 0.075, 0], abs=0.01)


def test_a_class_that_was_never_given_is_not_looked_for() -> None:
    """Its threshold only ever rises; that of a class that was given falls until it gets labels."""
    one = ThresholdsByClass(0.1)
    one.count(torch.tensor([[True, False]]))
    some = torch.full((5, 2), 0.3)
    for _ in range(200):
        last = one.follow(some, torch.ones(5, 2, dtype=torch.bool))
    assert last[0] < 0.35
    assert last[1] == START


@pytest.mark.parametrize("kind", [RunningThreshold, ThresholdsByClass])
def test_state_goes_on_exactly(kind: type[RunningThreshold] | type[ThresholdsByClass]) -> None:
    one, two = kind(0.07), kind(0.07)
    asked = torch.ones(12, 8, dtype=torch.bool)
    for seed in range(30):
        one.count(scores(seed) > 0.9)
        one.follow(scores(seed), asked)
    two.load_state_dict(one.state_dict())
    for seed in range(30, 40):
        for both in (one, two):
            both.count(scores(seed) > 0.9)
        assert torch.equal(one.follow(scores(seed), asked), two.follow(scores(seed), asked))
