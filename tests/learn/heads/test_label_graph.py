"""Label nodes: against AGCN's formula, written with self_loop_weight."""

import math
from pathlib import Path

import pytest
import torch

from cuter.backbone.features import Features
from cuter.learn.heads.label_graph import LabelGraph
from cuter.stream.batch import Batch

kinds = pytest.mark.parametrize("by_image", [False, True])


def seen(count: int, dim: int = 8, seed: int = 0) -> Features:
    tokens = torch.randn(count, 9, dim, generator=torch.Generator().manual_seed(seed))
    return Features(tokens.mean(dim=1), tokens, (3, 3), tokens)


def graph(by_image: bool, *blocks: int) -> LabelGraph:
    generator = torch.Generator().manual_seed(0)
    one = LabelGraph(8, 5, by_image, generator)
    one.second.data = torch.randn(one.second.shape, generator=generator)
    for count in blocks:
        one.grow(["class"] * count, generator=generator)
    return one


@kinds
def test_logits_are_the_embedding_times_nodes_after_two_graph_convolutions(by_image: bool) -> None:
    one, features = graph(by_image, 2, 3), seen(4)
    labels = torch.rand(6, 5) < 0.6
    names = tuple("abcde")
    batch = Batch(torch.zeros(6, 3, 8, 8, dtype=torch.uint8), labels, torch.ones_like(labels), names, tuple("uvwxyz"))
    old_logits = torch.randn(6, 2)
    for _ in range(20):
        one.update_statistics(batch, torch.zeros(6, 8), old_logits)
    matrix = one.correlation.matrix()
    assert not torch.equal(matrix, torch.eye(5)), "the classes are connected"
    found = one(features)
    assert found.states is not None
    for image in range(4):
        embeddings = torch.cat(list(one.embeddings))
        if one.look is not None:
            patches, asks = features.tokens[image], embeddings @ one.look.asks
            patches = patches - patches.mean(dim=1, keepdim=True)
            patches = patches / (patches.var(dim=1, correction=0, keepdim=True) + 1e-5).sqrt()
            weights = torch.softmax(asks @ patches.T / math.sqrt(8), dim=1)
            embeddings = embeddings + (weights @ patches) @ one.look.brings
        hidden = matrix @ (embeddings @ one.first)
        hidden = torch.where(hidden > 0, hidden, 0.2 * hidden)
        nodes = matrix @ (hidden @ one.second)
        torch.testing.assert_close(found.states[image] if by_image else found.states, nodes, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(found.logits[image], nodes @ features.embedding[image], rtol=1e-4, atol=1e-4)


@kinds
def test_the_first_classes_begin_undecided(by_image: bool) -> None:
    one = LabelGraph(8, 5, by_image=by_image)
    assert one(seen(2)).logits.shape == (2, 0)
    one.grow(["class"] * 3)
    assert (one(seen(2)).logits == 0).all()


def test_soft_labels_of_old_classes_are_shares_of_the_earlier_logits() -> None:
    one = graph(False, 2, 1)
    batch = Batch.of(torch.zeros(1, 3, 8, 8, dtype=torch.uint8), [["c"]]).aligned(("a", "b", "c"))
    one.update_statistics(batch, torch.zeros(1, 8), torch.tensor([[0.0, math.log(3)]]))
    torch.testing.assert_close(one.correlation.soft_both, torch.tensor([[0.25], [0.75]]))


def test_replay_is_not_counted_again() -> None:
    one = graph(False, 2)
    batch = Batch.of(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), [["a", "b"], ["a"]])
    one.update_replay_statistics(batch, torch.zeros(2, 8))
    assert one.correlation.both.sum() == 0


def test_word_vectors_stay_and_a_name_without_one_is_random(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("cat 1 2 3 4 5\n")
    one = LabelGraph(8, 5, by_image=False, word_vectors=file)
    one.second.data = torch.randn(one.second.shape)
    one.prepare(["cat", "unheard-of"])
    file.unlink()  # it was read
    one.grow(["cat", "unheard-of"], generator=torch.Generator().manual_seed(3))
    random = graph(False)
    random.grow(["cat", "unheard-of"], generator=torch.Generator().manual_seed(3))
    assert one.embeddings[0].tolist() == [[1, 2, 3, 4, 5], random.embeddings[0][1].tolist()]
    one(seen(3)).logits.sum().backward()
    assert one.embeddings[0].grad is None
    assert one.first.grad is not None


def test_learned_embeddings_learn() -> None:
    one = graph(True, 2)
    one(seen(3)).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in one.parameters())
