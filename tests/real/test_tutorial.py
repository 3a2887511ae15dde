"""The tutorial on photos, word for word, on 80 real ones: two months, broken files, a new tag in the second month."""

import csv
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command import cuter
from cuter import Learner
from cuter.models import ModelFolder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "tag-your-photos.md"
FIRST, NEW = ("car", "cat", "dog"), "person"
EXPECTED = [
    "data init photos", "data check photos", "teach tagger", "predict tagger", "evaluate tagger", "data init may",
    "teach tagger", "models tagger", "show tagger", "predict tagger", "forget tagger", "export tagger", "tag.py",
]  # fmt: skip
SPOILED = {"data init photos", "predict tagger"}  # what meets the broken files ends with code 2


@pytest.fixture
def folders(shared: Path, tmp_path: Path) -> dict[str, dict[str, list[str]]]:
    """Lay out 80 photos, 44 of the first month, 24 of the second, 12 in the inbox; return the tags of each."""
    voc = shared / "data" / "VOCdevkit" / "VOC2007"
    numbers = (voc / "ImageSets" / "Main" / "trainval.txt").read_text().split()
    random.Random(0).shuffle(numbers)
    wanted = {"photos": (44, FIRST), "may": (24, (NEW,)), "inbox": (12, (*FIRST, NEW))}
    found: dict[str, dict[str, list[str]]] = {name: {} for name in wanted}
    for number in numbers:
        objects = ElementTree.parse(voc / "Annotations" / f"{number}.xml").getroot().iter("object")
        shown = {str(one.findtext("name")) for one in objects}
        for folder, (count, tags) in wanted.items():
            own = sorted(shown & set(tags))
            if own and len(found[folder]) < count and (folder != "photos" or not found[folder] or NEW not in shown):
                place = f"{own[0]}/{number}.jpg" if folder == "photos" else f"{number}.jpg"
                (tmp_path / folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(voc / "JPEGImages" / f"{number}.jpg", tmp_path / folder / place)
                found[folder][place] = own
                break
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"\xff\xd8\xff, and then nothing")
    (tmp_path / "inbox" / "empty.jpg").write_bytes(b"")
    assert sum(map(len, found.values())) == 80
    return found


def fill_in(file: Path, tags: dict[str, list[str]]) -> None:
    """Do what a person does in a spreadsheet; the last photo stays as it is."""
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["labels"] for row in rows} == {"?"}
    assert {row["path"] for row in rows} == set(tags)
    with file.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, ["path", "labels"])
        writer.writeheader()
        for row in rows[:-1]:
            writer.writerow({"path": row["path"], "labels": ";".join(tags[row["path"]])})
        writer.writerow({"path": rows[-1]["path"], "labels": "?"})


def test_from_photos_to_a_tagged_folder_and_on(
    folders: dict[str, dict[str, list[str]]], shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    commands = [shlex.split(line) for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
                for line in block.splitlines()]  # fmt: skip
    (script,) = re.findall(r"`tag\.py`.*?```python\n(.*?)```", text, re.DOTALL)
    assert len(script.splitlines()) <= 20
    (tmp_path / "tag.py").write_text(script, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    forgotten, photo = "", min(folders["inbox"])
    began = time.monotonic()
    for words, name in zip(commands, EXPECTED, strict=True):
        line = " ".join(words).replace("desk/1.jpg", forgotten).replace("inbox/1.jpg", f"inbox/{photo}")
        line = line.replace("dino-vits16", str(shared / "weights" / "vit-tiny-patch16-224"))
        line = line.replace("--memory.images 300", "--memory.images 40")
        assert name in line
        if name == "tag.py":
            environment = os.environ | {"PYTHONPATH": ""}
            done = subprocess.run([sys.executable, *line.split()[1:]], env=environment, capture_output=True, text=True,
                                  check=False)  # fmt: skip
        else:
            done = cuter(*line.split()[1:])
        assert done.returncode == (2 if name in SPOILED else 0), (line, done.stdout, done.stderr)
        if name.startswith("data init"):
            fill_in(tmp_path / line.split()[3] / "labels.csv", folders[line.split()[3]])
        if name == "show tagger":
            forgotten = next(item.id for item in Learner.load("tagger", device="cpu").memory.items if "/" in item.id)
    seconds = time.monotonic() - began

    with (tmp_path / "tags-of-may.csv").open(newline="", encoding="utf-8") as lines:
        rows = {Path(row["path"]).name: row for row in csv.DictReader(lines)}
    assert set(rows) == {*folders["inbox"], "empty.jpg"}
    assert rows["empty.jpg"]["error"]
    assert any(NEW in row["labels"].split(";") for row in rows.values()), "the tag of the second month"
    right = [set(rows[name]["labels"].split(";")) & set(tags) for name, tags in folders["inbox"].items()]
    assert sum(map(bool, right)) >= 8, "most photos of the inbox get one of their tags"
    assert sum(NEW in row["labels"] for row in csv.DictReader((tmp_path / "tags.csv").open(encoding="utf-8"))) == 0
    assert {path.name for path in (tmp_path / "tagged").rglob("*") if path.is_file()} >= {Path(n).stem + ".jpg" for n in
                                                                                         folders["inbox"]}  # fmt: skip
    assert (tmp_path / "evaluation" / "evaluation.html").is_file()
    assert (tmp_path / "memory.png").is_file()
    assert [version.number for version in ModelFolder.open("tagger").versions] == [1, 2]
    assert forgotten not in {item.id for item in Learner.load("tagger", device="cpu").memory.items}
    told = {name: float(digits) for name, digits in (line.split(": ") for line in done.stdout.splitlines())}
    ours = {
        name: p for name, p in Learner.load("tagger", device="cpu").predict([f"inbox/{photo}"])[0].items() if p > 0.5
    }
    assert told == pytest.approx(ours, abs=0.011), "the script prints two digits"
    print(f"the tutorial took {seconds:.0f} s")
