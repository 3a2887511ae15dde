"""Each setting reaches the part that it is about."""

import copy
from typing import Any

import pytest
import torch

from cuter.backbone import Backbone
from cuter.cut import Localiser, crop
from cuter.learn.heads import LinearHead
from cuter.learn.heads.prototypes import Prototypes
from cuter.learn.keepers import KEEPERS, Keeper, RequiredVectors
from cuter.learn.keepers.selection import Candidates
from cuter.learn.learner import Learner
from cuter.learn.losses import asymmetric_loss
from cuter.learn.model import Model, View
from cuter.learn.regularise import make_regulariser
from cuter.learn.regularisers import REGULARISERS
from cuter.learn.separation import non_sparse_separation
from cuter.learn.settings import LearnerSettings
from cuter.learn.targets import AbsentIfSure, AbsentIfSureSettings
from cuter.memory import MEMORIES, Item, Memory
from cuter.stream.batch import Batch


def memory_with(counts: list[int]) -> Memory:
    memory = MEMORIES["balanced"](10_000, torch.Generator())
    labels = torch.eye(len(counts), dtype=torch.bool)
    for column, count in enumerate(counts):
        item = Item(torch.zeros(3, 2, 2, dtype=torch.uint8), labels[column], torch.ones_like(labels[column]), "x")
        memory.offer([item] * count)
    return memory


def keeper_of(settings: LearnerSettings, backbone: Backbone, counts: list[int]) -> Keeper:
    vectors = RequiredVectors(frozenset(), asymmetric_loss)
    return KEEPERS[settings.keeper.kind].create(settings.keeper, Model(backbone), memory_with(counts), vectors)


def images(count: int = 4) -> torch.Tensor:
    pixels = torch.randint(0, 90, (count, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    pixels[:, :, 8:24, 16:28] += 150
    return pixels


def test_scarce_classes_get_the_lower_threshold(tiny: Backbone) -> None:
    settings = LearnerSettings(method="cuter-paper", keeper={"selection": {"tau1": 0.3, "tau2": 0.6}})
    keeper: Any = keeper_of(settings, tiny, [8, 2, 0])
    both = torch.eye(3, dtype=torch.bool)
    scores = torch.eye(3) * 0.4
    verdicts = keeper.select(Candidates(scores, scores, both, torch.ones_like(both)))
    assert verdicts.reasons == ["unsure", "kept", "kept"]
    assert keeper.lacks is None


def test_the_fallback_is_for_classes_that_memory_lacks_also_for_new_ones(tiny: Backbone) -> None:
    keeper: Any = keeper_of(LearnerSettings(method="cuter"), tiny, [8, 5, 2])
    assert keeper.lacks(5).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize(("selection", "reason"), [("paper", "unsure"), ("relative", "kept")])
def test_the_rule_of_selection(tiny: Backbone, selection: str, reason: str) -> None:
    keeper: Any = keeper_of(LearnerSettings(method="cuter", keeper={"selection": selection}), tiny, [1])
    scores, given = torch.tensor([[0.1]]), torch.ones(1, 1, dtype=torch.bool)
    assert keeper.select(Candidates(scores, scores, given, given)).reasons == [reason]


def test_the_regulariser_and_its_weight() -> None:
    patches = torch.randn(2, 16, 8)
    view = View(torch.zeros(2, 3), torch.zeros(2, 8), patches, (4, 4))
    told, head = Batch.of(images(2), [["a", "b"], ["c"]]), LinearHead(8)
    found = make_regulariser(LearnerSettings(regulariser={"kind": "log-det", "weight": 0.25}), head)(view, told)
    torch.testing.assert_close(found, 0.25 * REGULARISERS["log-det"](patches, None))
    assert make_regulariser(LearnerSettings(), head)(view, told) == 0
    usual = make_regulariser(LearnerSettings(regulariser="log-det"), head)(view, told)
    torch.testing.assert_close(usual, REGULARISERS["log-det"].weight * REGULARISERS["log-det"](patches, None))
    assert all((REGULARISERS[name].weight > 0) == (name != "none") for name in REGULARISERS)


def test_what_classes_should_obey_comes_on_top_with_its_weight() -> None:
    view = View(torch.zeros(2, 3), torch.randn(2, 8), torch.randn(2, 16, 8), (4, 4))
    told, head = Batch.of(images(2), [["a", "b"], ["c"]]), Prototypes(8)
    head.grow(["class"] * 3)
    head.means = torch.randn(3, 8)
    both = make_regulariser(
        LearnerSettings(method="nsce", regulariser={"kind": "log-det", "weight": 0.25}, head={"separation": 0.3}), head
    )
    expected = 0.25 * REGULARISERS["log-det"](view.patches, None)
    expected = expected + 0.3 * non_sparse_separation(head, view.embedding, told)
    torch.testing.assert_close(both(view, told), expected)


def test_cut_outs_are_those_that_a_localiser_finds(tiny: Backbone) -> None:
    before = Localiser(copy.deepcopy(tiny))
    one = Learner.create("cuter-boxes", backbone=tiny, device="cpu", localiser={"max_regions": 3}, augment="none")
    step = one.observe(Batch.of(images(), [["thing"]] * 4))
    assert sum(step.selection.values()) - step.selection["whole image"] == 12, "three regions of each image"
    expected = [region for found in crop(images(), before.cut(images(), max_regions=3)) for region in found]
    kept = [item.image for item in one.memory.sample(100) if item.image.shape != images()[0].shape]
    assert kept
    assert all(any(torch.equal(image, region) for region in expected) for image in kept)
    assert one.cut(images()).masks.shape[:2] == (4, 3)
    assert one.cut(images(), max_regions=1).masks.shape[:2] == (4, 1)


def test_the_codec_and_the_policy_of_memory(tiny: Backbone) -> None:
    one = Learner.create("cuter", backbone=tiny, device="cpu", memory={"kind": "reservoir", "codec": "webp"})
    assert isinstance(one.memory, MEMORIES["reservoir"])
    assert one.memory.codec == "webp"


@pytest.mark.parametrize("draw", ["uniform", "by-class"])
def test_how_replay_is_drawn(tiny: Backbone, draw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ninety-nine cats and a dog: two draws by class always have the dog."""
    one = Learner.create("rs", backbone=tiny, device="cpu", memory={"images": 200}, replay={"kind": draw, "size": 2})
    one.observe(Batch.of(images(1).expand(99, -1, -1, -1), [["cat"]] * 99, known=["cat", "dog"]))
    one.observe(Batch.of(images(1), [["dog"]], known=["cat", "dog"]))
    dogs = sum(bool(any(item.labels[1] for item in one.draw(1))) for _ in range(20))
    assert dogs == 20 if draw == "by-class" else dogs < 10


def test_what_a_stream_image_says_of_unknown_classes(tiny: Backbone) -> None:
    known = torch.tensor([[True, False, False]])
    batch = Batch(images(1), torch.tensor([[True, False, False]]), known, ("a", "b", "c"), ("x",))
    told = AbsentIfSure(AbsentIfSureSettings(below=0.5))(batch, torch.tensor([[3.0, -0.1, 0.1]]))
    assert told.known.tolist() == [[True, True, False]], "a low score is absent, a high one stays unknown"
    assert told.labels.tolist() == [[True, False, False]]
    for choice, expected in (("ignored", [False, True]), ("absent-if-sure", [True, True])):
        one = Learner.create("rs", backbone=tiny, device="cpu", targets=choice, replay={"size": 0})
        one.observe(Batch.of(images(), [["old"]] * 4))
        with torch.no_grad():
            one.model.head.biases[0].fill_(-5)  # nothing looks old
        seen: list[torch.Tensor] = []
        one.criterion = lambda logits, labels, known, seen=seen: seen.append(known) or logits.sum()
        one.observe(Batch.of(images(), [["new"]] * 4))
        assert seen[0].tolist() == [expected] * 4


@pytest.mark.parametrize("method", ["cuter", "cuter-paper", "cutrep"])
def test_a_batch_without_any_class(tiny: Backbone, method: str) -> None:
    one = Learner.create(method, backbone=tiny, device="cpu")
    assert one.observe(Batch.of(images(), [[]] * 4)).images == 4
    assert len(one.memory) == 0
    assert one.observe(Batch.of(images(), [["thing"]] * 4)).images == 4


def test_the_model_that_judges_cut_outs_is_the_one_that_saw_the_images(tiny: Backbone) -> None:
    """Algorithm 1 selects before the update: a step must not make a cut-out look more certain than its image."""
    one = Learner.create("cuter", backbone=tiny, device="cpu", lr=0.1, head={"lr": 10.0})
    one.observe(Batch.of(images(), [["thing"]] * 4))
    weights, seen = one.model.head.weights[0].detach().clone(), []
    keep = one.keeper

    def noting(batch: Batch, view: View) -> Any:
        seen.append(one.model.head.weights[0].detach().clone())
        return keep(batch, view)

    one.keeper = noting
    one.observe(Batch.of(images(), [["thing"]] * 4))
    assert torch.equal(seen[0], weights)
    assert not torch.equal(one.model.head.weights[0], weights)


def test_the_letter_of_the_paper_fills_memory_once_the_model_is_certain(tiny: Backbone) -> None:
    one = Learner.create("cuter-paper", backbone=tiny, device="cpu", lr=1e-3, head={"lr": 0.05})
    for _ in range(12):
        step = one.observe(Batch.of(images(), [["thing"]] * 4, known=["thing", "other"]))
    assert len(one.memory) > 0
    assert step.replayed > 0


@pytest.mark.parametrize("trained", ["model", "head"])
def test_what_learns_from_a_guess(tiny: Backbone, trained: str) -> None:
    """An image without any known label, and an old class that is guessed to be absent in it."""
    one = Learner.create(
        "rs",
        backbone=copy.deepcopy(tiny),
        device="cpu",
        replay={"size": 0},
        memory={"images": 0},
        targets={"kind": "absent-if-sure", "below": 0.9, "train": trained},
        weight_decay=0,
    )
    one.observe(Batch.of(images(), [["old"]] * 4))
    before = copy.deepcopy(one.model.state_dict())
    one.optimizer.state.clear()  # what it learned before would move weights by momentum
    batch = Batch(
        images(), torch.zeros(4, 1, dtype=torch.bool), torch.zeros(4, 1, dtype=torch.bool), ("old",), ("x",) * 4
    )
    one.observe(batch)
    changed = {
        name.split(".")[0] for name, value in one.model.state_dict().items() if not torch.equal(value, before[name])
    }
    assert changed == ({"backbone", "head"} if trained == "model" else {"head"})


def test_labels_that_were_given_train_the_whole_model_alike(tiny: Backbone) -> None:
    """Where nothing is guessed the two ways are the same to the bit."""
    states = []
    for trained in ("model", "head"):
        one = Learner.create(
            "rs", backbone=copy.deepcopy(tiny), device="cpu", targets={"kind": "absent-if-sure", "train": trained}
        )
        one.observe(Batch.of(images(), [["cat"], ["dog"], [], ["cat", "dog"]]))
        states.append(one.model.state_dict())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())
