"""AGCN's three terms, each by its formula."""

import pytest
import torch

from cuter.learn.model import View
from cuter.learn.teachers.distil import distillation
from cuter.learn.teachers.soft_graph import SoftGraph, SoftGraphSettings, relations
from cuter.stream.batch import Batch


def view(logits: torch.Tensor, nodes: torch.Tensor) -> View:
    return View(logits, torch.zeros(len(logits), 4), torch.zeros(len(logits), 4, 4), (2, 2), states=nodes)


@pytest.mark.parametrize("images", [(), (3,)])
def test_the_loss_is_a_weighted_sum(images: tuple[int, ...]) -> None:
    """Nodes of all classes (C, D), or of all classes in each image (B, C, D); only old ones are held."""
    generator = torch.Generator().manual_seed(0)
    old = view(torch.randn(3, 2, generator=generator), torch.randn(*images, 2, 6, generator=generator))
    new = view(torch.randn(3, 5, generator=generator), torch.randn(*images, 5, 6, generator=generator))
    batch = Batch.of(torch.zeros(3, 3, 8, 8, dtype=torch.uint8), [["c"]] * 3).aligned(tuple("abcde"))
    assert old.states is not None
    assert new.states is not None
    held = new.states[..., :2, :]
    cosines = [
        torch.nn.functional.cosine_similarity(one[..., 0, :], one[..., 1, :], dim=-1) for one in (old.states, held)
    ]
    terms = {
        "distil_weight": distillation(old.logits, new.logits, batch.known),
        "node_weight": ((old.states - held) ** 2).mean(),
        "relation_weight": ((cosines[0] - cosines[1]) ** 2).mean() / 2,  # two of the four cosines are always 1
    }
    for field, term in terms.items():
        weights = dict.fromkeys(terms, 0.0) | {field: 3.0}
        lesson = SoftGraph(SoftGraphSettings(**weights)).teach(old, new, batch)
        torch.testing.assert_close(lesson.loss, 3 * term)
        assert lesson.batch is batch, "it adds no labels"
        assert torch.equal(lesson.old_logits, old.logits)  # type: ignore[arg-type]


def test_relations_do_not_change_when_all_nodes_turn_or_grow() -> None:
    nodes = torch.randn(5, 8, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(8, 8, dtype=torch.float64)).Q
    torch.testing.assert_close(relations(3 * nodes @ turn), relations(nodes))
