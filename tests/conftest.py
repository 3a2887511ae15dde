"""Things that many tests need."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data and weights, which are not part of the product."""
    folder = Path(os.environ.get("CUTER_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}; set CUTER_SHARED to its folder")
    return folder
