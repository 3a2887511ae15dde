from pathlib import Path

import pytest

from cuter.cache import cache_folder, made_once


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUTER_CACHE", str(tmp_path))
    assert cache_folder("things") == tmp_path / "things"
    monkeypatch.delenv("CUTER_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder("things") == tmp_path / "home" / ".cache" / "cuter" / "things"


def test_a_folder_is_made_once(tmp_path: Path):
    for content in ("first", "second"):
        with made_once(tmp_path / "a" / "b") as folder:
            if folder is not None:
                (folder / "x").write_text(content)
                assert not (tmp_path / "a" / "b").exists()
    assert (tmp_path / "a" / "b" / "x").read_text() == "first"


def test_what_fails_leaves_nothing(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), made_once(tmp_path / "a"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_that_name_is_not_taken_for_the_folder(tmp_path: Path):
    (tmp_path / "a").write_text("mine")
    with pytest.raises(OSError, match="a"), made_once(tmp_path / "a") as folder:
        assert folder is not None
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
