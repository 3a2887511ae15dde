"""Names of files do not depend on the locale."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

NAMES = ("café.png", "日本.png", "Ελλάδα.png", "plain.png")

READ = """
import sys
from pathlib import Path
from cuter.stream.datasets import load_dataset
from cuter.stream.images import read_squashed
from cuter.stream.loading import load_batches
from cuter.stream.tasks import StreamSample

assert sys.getfilesystemencoding() != "utf-8"
dataset = load_dataset("folder", Path(sys.argv[1]))
samples = [*dataset.train, *dataset.test]
visits = [[StreamSample(sample, frozenset(["cat"])) for sample in samples]]
(loaded,) = load_batches(visits, ["cat"], 8, workers=0)
print(ascii((sorted(loaded.batch.ids), [image.path for image in loaded.skipped])))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "labels", "split"])
        for name in (*NAMES, "gône.png"):
            rows.writerow([name, "cat", "test" if name == "plain.png" else "train"])
    for name in NAMES:
        Image.new("RGB", (10, 10)).save(folder / name)
    return folder


def in_c_locale(*arguments: object) -> subprocess.CompletedProcess[str]:
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", env=os.environ | locale, check=False
    )


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="paths are Unicode there")
def test_a_list_in_utf8_finds_its_images_in_any_locale(root: Path) -> None:
    done = in_c_locale("-c", READ, root)
    assert done.stdout.strip() == ascii((sorted(NAMES), [str(root / "gône.png")])), done.stderr


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="paths are Unicode there")
def test_the_command_line_finds_them_too(root: Path) -> None:
    accented = root.rename(root.with_name("phôtos"))
    done = in_c_locale("-m", "cuter", "data", "check", accented)
    assert done.returncode == 2, done.stderr
    assert [line for line in done.stdout.splitlines() if "unreadable:" in line] == [
        f"unreadable: {accented / 'gône.png'}: cannot read the image: no such file or directory"
    ]
