"""Which heads are linear layers."""

from typing import Any

import pytest
import torch

from cuter.backbone import untrained_vit
from cuter.export.linear import as_linear
from export.taught import images, taught

LINEAR: list[dict[str, Any]] = [
    {"kind": "linear"},
    {"kind": "prototypes", "scores": "rows"},
    {"kind": "label-graph", "nodes": "labels"},
]
OTHERS: list[dict[str, Any]] = [
    {"kind": "prototypes", "scores": "means"},
    {"kind": "label-graph", "nodes": "images"},
    {"kind": "class-attention"},
]


@pytest.mark.parametrize("head", LINEAR, ids=str)
def test_weights_and_biases_give_the_logits(head: dict[str, Any]) -> None:
    model = taught(untrained_vit(dim=32), head=head).model.eval()
    found = as_linear(model.head, 32)
    assert found is not None
    weight, bias = found
    with torch.no_grad():
        features = model.backbone(images())
        expected = model.head.predict_logits(features)
    assert expected.std() > 0.01
    torch.testing.assert_close(features.embedding @ weight.T + bias, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("head", OTHERS, ids=str)
def test_others_are_not_taken_for_linear_layers(head: dict[str, Any]) -> None:
    assert as_linear(taught(untrained_vit(dim=32), head=head).model.head, 32) is None


def test_a_large_bias_does_not_round_off_the_weights() -> None:
    model = taught(untrained_vit(dim=32)).model
    with torch.no_grad():
        model.head.biases[0].fill_(1e4)
    found = as_linear(model.head, 32)
    assert found is not None
    torch.testing.assert_close(found[0][:2], model.head.weights[0], atol=1e-5, rtol=1e-3)
