"""Where an export goes: whole or not at all, and in the place of nothing but an earlier one."""

import json
from pathlib import Path

import pytest

from cuter.errors import ConfigError
from cuter.export.facts import short_name
from cuter.export.folder import export_folder, read_exported, write_facts


def write(folder: Path, name: str) -> None:
    with export_folder(folder) as new:
        (new / name).write_text("weights")
        write_facts(new, {"cuter": "0.1.0", "labels": ["猫"]})


def test_an_earlier_export_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path / "out", "model.onnx")
    assert json.loads((tmp_path / "out" / "model.json").read_text(encoding="utf-8"))["labels"] == ["猫"]
    write(tmp_path / "out", "other.onnx")
    assert list(read_exported(tmp_path / "out", {}).files) == ["model.json", "other.onnx"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"files": ["model.json"]}', '{"cuter": "0.1.0"}'])
def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "model.json").write_text(content)
    with pytest.raises(ConfigError, match=r"holds something else than an earlier export.*choose another --out"):
        write(tmp_path, "model.onnx")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_notes_beside_an_export_keep_it_from_being_replaced(tmp_path: Path) -> None:
    write(tmp_path / "out", "model.onnx")
    (tmp_path / "out" / "notes.txt").touch()
    with pytest.raises(ConfigError, match="holds something else"):
        write(tmp_path / "out", "model.onnx")


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="holds something else"):
        write(tmp_path / "file", "model.onnx")
    with pytest.raises(ConfigError, match=r"cannot be written to .*choose another --out"):
        write(tmp_path / "file" / "out", "model.onnx")


def test_an_empty_folder_will_do(tmp_path: Path) -> None:
    write(tmp_path, "model.onnx")
    assert (tmp_path / "model.onnx").exists()


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("dino-vits16", "dino-vits16"),
        ("facebook/dino-vits16", "facebook/dino-vits16"),
        ("/home/me/weights/vit", "vit"),
        ("~/vit", "vit"),
        ("../weights/vit/", "vit"),
        ("data/weights/vit.pth", "vit.pth"),
    ],
)
def test_a_path_is_shortened_and_a_name_is_not(name: str, short: str) -> None:
    assert short_name(name) == short
