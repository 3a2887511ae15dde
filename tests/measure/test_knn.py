import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier

from cuter.errors import BatchError
from cuter.measure.knn import TEMPERATURE, knn_map, knn_scores


def some(rows: int, seed: int, classes: int = 4) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Embeddings that tell something of their labels, and what is known of these."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.rand(rows, classes, generator=generator) < 0.3
    directions = torch.randn(classes, 8, generator=torch.Generator().manual_seed(99))
    embeddings = labels.float() @ directions + torch.randn(rows, 8, generator=generator)
    return embeddings, labels, torch.rand(rows, classes, generator=generator) < 0.7


def test_votes_are_those_of_scikit_learn() -> None:
    bank, labels, _ = some(60, seed=0)
    queries, _, _ = some(25, seed=1)
    ours = knn_scores(queries, bank, labels, neighbours=7)
    model = KNeighborsClassifier(7, metric="cosine", weights=lambda distance: np.exp((1 - distance) / TEMPERATURE))
    for column in range(labels.shape[1]):
        shares = model.fit(bank.double().numpy(), labels[:, column].numpy()).predict_proba(queries.double().numpy())
        assert ours[:, column].numpy() == pytest.approx(shares[:, 1], rel=1e-6)


def test_a_neighbour_does_not_vote_on_what_nobody_looked_for() -> None:
    bank, labels, known = some(60, seed=0)
    queries, _, _ = some(25, seed=1)
    scores = knn_scores(queries, bank, labels, known, neighbours=5)
    cosines = torch.nn.functional.cosine_similarity(queries[:, None].double(), bank[None].double(), dim=2).numpy()
    for query in range(len(queries)):
        nearest = np.argsort(-cosines[query])[:5]
        for column in range(labels.shape[1]):
            voters = [place for place in nearest if known[place, column]]
            weights = np.exp(cosines[query, voters] / TEMPERATURE)
            expected = (weights * labels[voters, column].numpy()).sum() / weights.sum() if voters else 0
            assert float(scores[query, column]) == pytest.approx(expected, rel=1e-6)


def test_map_is_that_of_scikit_learn_and_length_does_not_matter() -> None:
    bank, labels, _ = some(80, seed=2)
    queries, truths, _ = some(40, seed=3)
    known = torch.ones_like(labels)
    value = knn_map((queries, truths, torch.ones_like(truths)), (bank, labels, known))
    scores = knn_scores(queries, bank, labels).numpy()
    assert value == pytest.approx(100 * average_precision_score(truths.numpy(), scores, average="macro"))
    assert torch.equal(knn_scores(4 * queries, bank / 2, labels), knn_scores(queries, bank, labels))


def test_fewer_images_than_neighbours_all_vote() -> None:
    bank, labels, _ = some(3, seed=4)
    scores = knn_scores(bank[:1], bank, labels, temperature=1e6)
    assert scores[0].tolist() == pytest.approx(labels.double().mean(dim=0).tolist(), rel=1e-5)


def test_an_empty_bank_is_refused() -> None:
    with pytest.raises(BatchError, match="0 and 3"):
        knn_scores(torch.randn(1, 8), torch.randn(0, 8), torch.ones(3, 2, dtype=torch.bool))
