"""What memory wants to know of an item beside its pixels."""

import copy

import pytest
import torch

from cuter.backbone import Backbone
from cuter.errors import ConfigError
from cuter.learn.keepers.base import RequiredVectors, logit_grads
from cuter.learn.keepers.cut_outs import Boxes, CutOuts
from cuter.learn.keepers.selection import Candidates, Verdicts
from cuter.learn.keepers.whole_images import WholeImages
from cuter.learn.learner import Learner
from cuter.learn.losses import asymmetric_loss
from cuter.learn.model import View
from cuter.stream.batch import Batch
from cuter.stream.resize import resize

BOTH = RequiredVectors(frozenset({"embedding", "logit_grad"}), asymmetric_loss)


def images(count: int) -> torch.Tensor:
    return torch.randint(256, (count, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def view_of(count: int, classes: int) -> View:
    generator = torch.Generator().manual_seed(1)
    logits, embedding = torch.randn(count, classes, generator=generator), torch.randn(count, 7, generator=generator)
    return View(logits.requires_grad_(), embedding.requires_grad_(), embedding[:, None], (1, 1))


def own_gradient(logits: torch.Tensor, labels: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
    """Return the gradient of one image's loss, alone in its batch."""
    leaf = logits.detach().clone().requires_grad_()
    asymmetric_loss(leaf[None], labels[None], known[None]).backward()
    return leaf.grad


def summed_loss(logits: torch.Tensor, labels: torch.Tensor, known: torch.Tensor) -> torch.Tensor:
    """Another criterion: a sum over images, and nothing is focused."""
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.float(), known.float(), reduction="sum")


def test_a_residual_is_the_gradient_of_the_criterion_whether_a_mean_or_a_sum() -> None:
    view = view_of(5, 4)
    labels, known = torch.rand(5, 4) < 0.5, torch.rand(5, 4) < 0.6
    by_hand = (torch.sigmoid(view.logits.detach()) - labels.float()) * known
    torch.testing.assert_close(logit_grads(summed_loss, view.logits, labels, known), by_hand)
    required = RequiredVectors(frozenset({"logit_grad"}), lambda *rows: summed_loss(*rows) / len(rows[0]))
    torch.testing.assert_close(required(view, labels, known)["logit_grad"], by_hand)


def test_a_learner_describes_items_by_its_own_criterion(tiny: Backbone) -> None:
    """The sum over two known classes pulls twice as hard as their mean."""
    found = []
    for reduction in ("mean", "sum"):
        one = Learner.create(
            "gss", backbone=copy.deepcopy(tiny), device="cpu", class_reduction=reduction, augment="none"
        )
        one.observe(Batch.of(images(3), [["a"], ["b"], []], known=["a", "b"]))
        found.append(torch.stack([item.tensors()["logit_grad"] for item in one.memory.items]))
    torch.testing.assert_close(found[1], 2 * found[0])


def test_a_residual_does_not_depend_on_the_rest_of_the_batch() -> None:
    view = view_of(5, 4)
    labels, known = torch.rand(5, 4) < 0.5, torch.rand(5, 4) < 0.6
    known[2] = False
    found = logit_grads(asymmetric_loss, view.logits, labels, known)
    for row in range(5):
        torch.testing.assert_close(found[row], own_gradient(view.logits[row], labels[row], known[row]))
    assert not found.requires_grad
    assert (found[~known] == 0).all()
    assert logit_grads(asymmetric_loss, view.logits[:, :0], labels[:, :0], known[:, :0]).shape == (5, 0)
    assert logit_grads(asymmetric_loss, view.logits[:0], labels[:0], known[:0]).shape == (0, 4)


def test_whole_images_come_with_what_is_wanted() -> None:
    batch = Batch.of(images(3), [["a"], ["b"], []], known=["a", "b", "c"])
    view = view_of(3, 3)
    nothing = RequiredVectors(frozenset(), asymmetric_loss)
    assert {*WholeImages(nothing)(batch, view).items[0].tensors()} == {"image", "labels", "known"}
    for row, item in enumerate(WholeImages(BOTH)(batch, view).items):
        tensors = item.tensors()
        assert torch.equal(tensors["embedding"], view.embedding[row].detach())
        torch.testing.assert_close(tensors["logit_grad"], own_gradient(view.logits[row], item.labels, item.known))
        assert not tensors["embedding"].requires_grad
    (first, *_) = WholeImages(RequiredVectors(frozenset({"embedding"}), asymmetric_loss))(batch, view).items
    assert first.logit_grad is None


def test_cut_outs_come_with_what_their_own_forward_says(tiny: Backbone) -> None:
    """Their target is one class and none of the others, also of those that nobody looked for."""
    one = Learner.create("cuter", backbone=tiny, device="cpu", memory="gradient", head={"lr": 0.01})
    batch = Batch.of(images(2), [["a"], ["b"]], known=["a", "b"])
    one.observe(batch)
    one.observe(Batch.of(images(1), [["c"]], known=["c"]))
    keeper = CutOuts(one.model, Boxes(), lambda c: Verdicts(torch.tensor([1, 0]), ["kept", "kept"]), BOTH)
    aligned = one._align(batch)
    boxes = torch.tensor([[[2, 3, 12, 20]], [[0, 0, 9, 9]]])
    view = View(torch.zeros(2, 3), torch.zeros(2, 32), torch.zeros(2, 1, 4), (1, 1), boxes=boxes)
    kept = keeper(aligned, view).items
    crops = [aligned.images[:1, :, 3:20, 2:12], aligned.images[1:, :, :9, :9]]
    with one.model.inference():
        seen = one.model(torch.cat([resize(crop, 32) for crop in crops]))
    for row, item in enumerate(kept):
        assert item.known.tolist() == [True, True, False]
        logit_grad = own_gradient(seen.logits[row], item.labels, torch.ones(3, dtype=torch.bool))
        torch.testing.assert_close(item.tensors()["logit_grad"], logit_grad)
        torch.testing.assert_close(item.tensors()["embedding"], seen.embedding[row])
        assert logit_grad.abs().min() > 0


def test_a_fallback_image_comes_with_vectors_too(tiny: Backbone) -> None:
    def none(candidates: Candidates) -> Verdicts:
        return Verdicts(torch.zeros(len(candidates.scores), dtype=torch.int64), ["unsure"] * len(candidates.scores))

    one = Learner.create("cuter", backbone=tiny, device="cpu", memory="gradient")
    one.keeper.select = none
    one.observe(Batch.of(images(2), [["a"], ["b"]]))
    assert [len(item.tensors()["logit_grad"]) for item in one.memory.items] == [2, 2]


@pytest.mark.parametrize("keeper", ["whole-images", "cut-outs"])
@pytest.mark.parametrize("memory", ["gradient", "herding", "cluster", "ocdm", "prs"])
def test_a_learner_with_each_policy_learns_grows_and_is_saved(
    tiny: Backbone, memory: str, keeper: str, tmp_path
) -> None:
    one = Learner.create("rs", backbone=tiny, device="cpu", memory={"kind": memory, "images": 4}, keeper=keeper)
    one.observe(Batch.of(images(3), [[]] * 3))  # nothing is known yet
    for step in range(6):
        names = ["a", "b"] if step < 3 else ["c", "d"]
        one.observe(Batch.of(images(4), [[names[n % 2]] for n in range(4)], known=names))
    one.save(tmp_path / "saved")
    other = Learner.load(tmp_path / "saved", device="cpu")
    for learner in (one, other):
        learner.observe(Batch.of(images(4), [["e"], ["a", "e"], [], ["b"]]))
    assert [item.id for item in one.memory.items] == [item.id for item in other.memory.items]
    assert all(
        torch.equal(tensor, twin.tensors()[name])
        for item, twin in zip(one.memory.items, other.memory.items, strict=True)
        for name, tensor in item.tensors().items()
    )
    assert one.memory.pixels <= one.memory.budget


def test_replay_renews_vectors_and_only_those_that_are_wanted(tiny: Backbone) -> None:
    for memory in ("gradient", "herding", "reservoir"):
        one = Learner.create(
            "rs", backbone=tiny, device="cpu", memory={"kind": memory, "images": 50}, replay={"size": 2}, lr=1e-3
        )
        one.observe(Batch.of(images(6), [["a"]] * 6, known=["a"]))
        before = {item.id: item for item in one.memory.items}
        one.observe(Batch.of(images(1), [["b"]], known=["b"], ids=["new"]))
        changed = [item for item in one.memory.items if item is not before.get(item.id) and item.id != "new"]
        assert len(changed) == (0 if memory == "reservoir" else 2)
        for item in changed:
            assert not torch.equal(item.tensors()["embedding"], before[item.id].tensors()["embedding"])
            assert torch.equal(item.image, before[item.id].image)
            if memory == "gradient":
                assert len(item.tensors()["logit_grad"]) == 2, "an old image says of the new class that it is absent"


def test_the_power_reaches_the_policy_or_is_refused(tiny: Backbone) -> None:
    one = Learner.create("rs", backbone=tiny, device="cpu", memory={"kind": "prs", "power": 0.5})
    assert one.memory.settings.power == 0.5
    with pytest.raises(ConfigError, match=r"memory\.power of the memory policy 'reservoir'\. It is a setting of: ocdm"):
        Learner.create("rs", backbone=tiny, device="cpu", memory={"power": 0.5})
