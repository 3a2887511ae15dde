"""A thousand files that are damaged or odd: each is read, or refused by its name, without a word on the terminal."""

import gc
import warnings
from pathlib import Path

import pytest

from cuter.errors import DataError
from cuter.stream.images import path_text, read_image, read_size, read_squashed
from malformed import malformed_images


def test_a_thousand_malformed_images(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    paths = malformed_images(tmp_path)
    assert len(set(paths)) == 1000
    capfd.readouterr()
    reasons: dict[Path, str] = {}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for path in paths:
            try:
                image = read_image(path)
            except DataError as error:
                reasons[path] = str(error)
                with pytest.raises(DataError):
                    read_squashed(path, 8)
            else:
                assert (image.mode, image.size) == ("RGB", read_size(path))
                assert read_squashed(path, 8).shape == (3, 8, 8)
        gc.collect()  # a file that was left open would be told here
    assert 500 < len(reasons) < 900
    for path, reason in reasons.items():
        name, _, why = reason.partition(": cannot read the image: ")
        assert name == path_text(path)
        assert why
    assert [str(warning.message) for warning in heard] == []
    assert capfd.readouterr() == ("", "")


def test_they_are_the_same_every_time(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths = malformed_images(tmp_path / name, count=60)
        contents.append([(path.name, path.is_file() and path.read_bytes()) for path in paths])
    assert contents[0] == contents[1]
