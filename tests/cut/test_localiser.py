from pathlib import Path

import pytest
import torch

from cuter.backbone import Backbone, untrained_vit
from cuter.cut import CutSettings, Localiser, cut_settings, mask_cut
from cuter.errors import BackboneError


def test_settings_go_by_architecture_then_by_a_general_rule(tiny: Backbone) -> None:
    measured = cut_settings(untrained_vit(32, 16, dim=192, depth=12, heads=3))
    assert (measured.features, measured.tau, measured.self_loop_weight) == ("values@6", 0.1, 1.0)
    assert "ViT-Tiny" in measured.origin
    assert cut_settings(tiny).features == "values@1"
    assert "neither" in cut_settings(tiny).origin
    assert cut_settings(untrained_vit(32, 8, depth=24)).features == "values@14"


def test_dino_gets_the_published_settings(tiny: Backbone) -> None:
    tiny.name = "dino-vits16"
    assert cut_settings(tiny) == CutSettings("keys", 0.2, origin="published for DINO, not measured here")


def test_the_backbone_gives_the_features_that_suit_it(backbone_folder: Path) -> None:
    localiser = Localiser.load(backbone_folder)
    assert localiser.backbone.features == localiser.settings.features == "values@1"
    assert not localiser.backbone.training


def test_what_is_given_replaces_what_suits(backbone_folder: Path) -> None:
    settings = Localiser.load(backbone_folder, "queries", tau=0.4, centre=True).settings
    assert settings == CutSettings("queries", 0.4, centre=True, self_loop_weight=1.0, origin="given")


def test_features_that_do_not_exist_are_named(backbone_folder: Path) -> None:
    with pytest.raises(BackboneError, match=r"'values@7'.*from 1 to 2"):
        Localiser.load(backbone_folder, "values@7")


def test_a_cut_is_mask_cut_of_the_features(tiny: Backbone) -> None:
    localiser = Localiser(tiny, CutSettings("keys", tau=0.1, centre=True, self_loop_weight=2.0))
    images = torch.randint(0, 256, (3, 3, 64, 96), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    features = localiser.features(images)
    assert features.grid == (8, 12)
    expected = mask_cut(features.patches, (8, 12), 3, 0.1, centre=True, self_loop_weight=2.0)
    regions = localiser.cut(images, max_regions=3)
    assert torch.equal(regions.masks, expected.masks)
    assert regions.pixel_boxes(64, 96).max() <= 96
    assert not features.patches.requires_grad
