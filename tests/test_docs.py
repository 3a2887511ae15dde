"""What README, CONTRIBUTING and the tutorials show, done word for word."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[1]

USE_THEM = """
import torch
from cuter.backbone import untrained_vit
from cuter.learn.learner import Learner
from cuter.stream.batch import Batch
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.images import read_squashed
from pathlib import Path

root = Path({root!r})
assert detect(root) == "pairs"
dataset = load_dataset("pairs", root)
assert (len(dataset.train), len(dataset.test), dataset.classes) == (8, 2, ("dark", "light"))

learner = Learner.create("er-coin", backbone=untrained_vit(), memory={"images": 3}, device="cpu")
images = torch.stack([read_squashed(sample.path, 32) for sample in dataset.train])
learner.observe(Batch.of(images, [list(sample.labels) for sample in dataset.train], ids=[s.id for s in dataset.train]))
assert type(learner.memory).__name__ == "Coin"
assert len(learner.memory) == 3

from typer.testing import CliRunner
from cuter.cli import app

print(CliRunner().invoke(app, ["methods"]).output)
print(CliRunner().invoke(app, ["paper", "--list"]).output)
"""


def test_a_new_part_is_one_file(tmp_path: Path) -> None:
    """The files of CONTRIBUTING at the places that it names, in a copy of the package: nothing else is touched."""
    source = tmp_path / "src"
    shutil.copytree(REPOSITORY / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"`(src/cuter/\S+)`:\n\n```\w+\n(.*?)```", text, re.DOTALL)
    assert [Path(name).name for name, _ in files] == ["coin.py", "er_coin.py", "pairs.py", "coin.yaml"]
    for name, content in files:
        assert not (tmp_path / name).exists()
        (tmp_path / name).write_text(content, encoding="utf-8")

    root = tmp_path / "pairs"
    root.mkdir()
    lines = []
    for number in range(10):
        name, label = f"{number}.png", "light" if number % 2 else "dark"
        Image.new("RGB", (32, 32), "white" if number % 2 else "black").save(root / name)
        lines.append(f"{name} {label}")
    (root / "pairs.txt").write_text("\n".join(lines))
    told = execute(USE_THEM.format(root=str(root)), tmp_path, source)
    assert "er-coin" in told, "cuter methods lists it"
    assert "coin   " in told, "cuter paper --list lists the table"


def test_the_examples_of_the_readme(tmp_path: Path, backbone_folder: Path, shapes: Path) -> None:
    learning, cutting = python_blocks("README.md")
    for name in ("photo.jpg", "robin.jpg"):
        (tmp_path / name).write_bytes((shapes / "images" / "test-00000.png").read_bytes())
    stream = "stream = [(['photo.jpg', 'robin.jpg'], [['cat'], ['dog', 'cat']])]\n"
    cutting += "assert regions.masks.shape == (1, 2, 28, 28)\nassert len(crops) == 1\n"
    told = execute((stream + learning + cutting).replace("dino-vits16", str(backbone_folder)), tmp_path)
    assert "'dog': 0." in told
    assert (tmp_path / "tagger" / "learner.safetensors").exists()


def test_the_quick_start(tmp_path: Path) -> None:
    script = "".join(python_blocks("docs/tutorials/quick-start.md"))
    assert "train=300, test=100" in script
    told = execute(script.replace("train=300, test=100", f"root='{tmp_path}/toybox', train=24, test=2"), tmp_path)
    assert "'ball', 'bird'" in told, "the classes of the loaded learner"


def test_the_tutorial_on_photos(tmp_path: Path, backbone_folder: Path, shapes: Path) -> None:
    for name in ("photo.jpg", "robin.jpg"):
        (tmp_path / name).write_bytes((shapes / "images" / "test-00000.png").read_bytes())
    stream = "stream = [(['photo.jpg', 'robin.jpg'], [['cup'], ['lamp', 'plant']])]\n"
    script = stream + "".join(python_blocks("docs/tutorials/tag-your-photos.md"))
    told = execute(script.replace("dino-vits16", str(backbone_folder)), tmp_path)
    assert len(told.splitlines()) == 3, "tags, a score with its box, the score of the new tag"


def test_the_tutorial_on_a_method_of_your_own(tmp_path: Path) -> None:
    told = execute("".join(python_blocks("docs/tutorials/add-a-method.md")), tmp_path)
    assert told == "Coin\n"


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (REPOSITORY / document).read_text(encoding="utf-8"), re.DOTALL)


def execute(script: str, folder: Path, source: Path | None = None) -> str:
    """Run a script in a process of its own, with the package as it is or with a copy of its source."""
    environment = os.environ | ({"PYTHONPATH": str(source)} if source else {})
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
