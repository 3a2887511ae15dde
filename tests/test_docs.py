"""What README, CONTRIBUTING and the tutorials show, done word for word."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from command import cuter_in_a_process, python_in_a_process
from months import FIRST, SECOND, make_month

REPOSITORY = Path(__file__).resolve().parents[1]

SMALL = ["--memory.images", "3", "--replay.size", "2", "--probe-images", "0", "--workers", "0", "--device", "cpu"]

# Commands one after the other, as a shell gives them, in one process: the start of Python and torch takes long. Before
# a run goes on, its end is forgotten; before a sweep, one of its runs is there already.
COMMANDS = """
import os, shutil, sys
from cuter.cli import main

for command in {commands!r}:
    if "--resume" in command:
        os.remove(command[-1] + "/summary.json")
    if "sweep" in command:
        shutil.copytree("runs/er-coin", "runs/sweep/runs/er-coin")
    print("$", *command, flush=True)
    sys.argv = command
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
"""

LOAD = """
import sys
from pathlib import Path
from cuter import Learner

for folder in {folders!r}:
    for run in sorted(Path().glob(folder)):
        memory = Learner.load(run, device="cpu").memory
        print("loaded", type(memory).__name__, memory.settings.heads, len(memory), flush=True)
"""


def test_parts_in_a_package_of_your_own(tmp_path: Path) -> None:
    """The files and commands of CONTRIBUTING, word for word: the package is installed, and every command knows it."""
    source = tmp_path / "source" / "src"
    shutil.copytree(REPOSITORY / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    files = files_of("CONTRIBUTING.md")
    (source / "cuter/tables/suites/coin.yaml").write_text(files.pop("src/cuter/tables/suites/coin.yaml"))
    assert [Path(name).name for name in files] == ["cuter_coin.py", "pyproject.toml", "test_coin.py", "cuter_pairs.py"]
    assert len(files["cuter-coin/cuter_coin.py"].splitlines()) <= 30
    (tmp_path / "cuter-coin").mkdir()
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    rows = write_images(tmp_path / "photos")
    (tmp_path / "photos" / "pairs.txt").write_text("\n".join(map(" ".join, rows)))

    install, *commands = commands_of("CONTRIBUTING.md", "cuter-coin")
    assert install == ["pip", "install", "./cuter-coin"]
    offline = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(tmp_path / "site")]
    subprocess.run([sys.executable, "-m", *install, *offline], cwd=tmp_path, check=True)
    wanted = ["explain", "run", "methods", "run", "run", "sweep", "compare", "report", "data"]
    assert [command[1] for command in commands] == wanted
    commands = [command + (SMALL if command[1:3] == ["run", "--dataset"] else []) for command in commands]
    script = COMMANDS.format(commands=[*commands, ["cuter", "paper", "--list"]])
    script += LOAD.format(folders=["runs/coin", "runs/er-coin", "runs/sweep/runs/er-coin-*"])
    script += files["cuter-coin/test_coin.py"] + "\ntest_coin()\n"
    told = execute(script, tmp_path, {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), str(source)])})

    assert "--memory.heads" in told, "cuter explain"
    assert "er-coin" in told.split("$ cuter methods")[1].split("$")[0]
    assert "pairs" in told.split("$ cuter data check photos")[1].split("$")[0]
    assert "is it worth keeping what is new?" in told, "cuter paper --list"
    assert (tmp_path / "report.html").exists()
    assert "memory.heads 0.7" in (tmp_path / "runs/sweep/memory.heads/table.csv").read_text()
    loaded = re.findall("loaded (.*)", told)
    assert loaded == ["Coin 0.3 3", "Coin 0.3 3", "Coin 0.7 3"], "the last one was learned by a process of the sweep"


def test_parts_in_a_module_of_your_own(tmp_path: Path) -> None:
    """The tutorial: a file in the working folder, which --import and `imports` name; in every process it is new."""
    photos = tmp_path / "photos"
    module, method, create, check = python_blocks("docs/tutorials/add-a-method.md")
    (tmp_path / "my_coin.py").write_text(module + method, encoding="utf-8")
    rows = [f"{name},{label},{'test' if n < 2 else 'train'}" for n, (name, label) in enumerate(write_images(photos))]
    (photos / "labels.csv").write_text("\n".join(["path,labels,split", *rows]))
    data = ["--dataset", "folder", "--data-root", "photos", "--tasks", "2x1"]  # of what is typed twice the last counts
    shown = {tuple(command[1:3]): command[1:] for command in commands_of("docs/tutorials/add-a-method.md")}

    def cuter(*arguments: object) -> int | None:
        with contextlib.chdir(tmp_path):
            process = cuter_in_a_process(tmp_path / "told", *arguments)
            process.join()
        return process.exitcode

    def python(script: str) -> int | None:
        with contextlib.chdir(tmp_path):
            process = python_in_a_process(tmp_path / "told", script)
            process.join()
        return process.exitcode

    assert python(create + check) == 0
    assert cuter(*shown["methods", "--import"]) == 0
    assert cuter(*shown["explain", "memory.coin"]) == 0
    assert cuter(*shown["run", "--import"], *data, *SMALL) == 0
    (tmp_path / "runs/coin/summary.json").unlink()
    assert cuter("run", "--resume", "runs/coin") == 0
    shutil.copytree(tmp_path / "runs/coin", tmp_path / "runs/sweep/runs/coin")
    assert cuter(*shown["sweep", "--config"], "--seeds", "1") == 0
    assert python(LOAD.format(folders=["coin-learner", "runs/coin", "runs/sweep/runs/er-coin-*"])) == 0
    told = (tmp_path / "told").read_text()
    assert told.startswith("0.3\n")
    assert "er-coin" in told
    assert "--memory.heads" in told
    assert re.findall("loaded (.*)", told) == ["Coin 0.3 0", "Coin 0.3 3", "Coin 0.7 3"]

    (tmp_path / "my_coin.py").unlink()
    assert cuter("compare", "runs/coin", "runs/sweep/runs/coin") == 0, "what is written down can still be read"
    assert cuter("run", "--resume", "runs/coin") == 1
    assert "the module 'my_coin', which adds parts, cannot be imported" in (tmp_path / "told").read_text()


def test_the_examples_of_the_readme(tmp_path: Path, backbone_folder: Path, shapes: Path) -> None:
    learning, loop, cutting = python_blocks("README.md")
    for name in ("photo.jpg", "robin.jpg"):
        (tmp_path / name).write_bytes((shapes / "images" / "test-00000.png").read_bytes())
    stream = "stream = [(['photo.jpg', 'robin.jpg'], [['cat'], ['dog', 'cat']])]\n"
    cutting += "assert regions.masks.shape == (1, 2, 28, 28)\nassert len(crops) == 1\n"
    loop = loop.replace('"voc", "VOCdevkit"', f'"folder", {str(shapes)!r}').replace("5x4", "4x2").replace("224", "32")
    told = execute((stream + learning + loop + cutting).replace("dino-vits16", str(backbone_folder)), tmp_path)
    assert "'dog': 0." in told
    assert "mAP over 8 classes" in told
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
    _, learning = python_blocks("docs/tutorials/tag-your-photos.md")  # tests/real does the rest, word for word
    script = stream + learning
    told = execute(script.replace("dino-vits16", str(backbone_folder)), tmp_path)
    assert len(told.splitlines()) == 3, "tags, a score with its box, the score of the new tag"


def test_the_guide_to_models(tmp_path: Path) -> None:
    make_month(tmp_path / "photos", FIRST, seed=1, images=8)
    make_month(tmp_path / "photos-of-may", SECOND, seed=2, images=8)
    assert execute("".join(python_blocks("docs/how-to/models.md")), tmp_path).strip() == "2"


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (REPOSITORY / document).read_text(encoding="utf-8"), re.DOTALL)


def files_of(document: str) -> dict[str, str]:
    """Return the files that a page names right before it shows them."""
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    return dict(re.findall(r"`([\w./-]+\.\w+)`[^`\n]*:\n\n```\w+\n(.*?)```", text, re.DOTALL))


def commands_of(document: str, first: str = "") -> list[list[str]]:
    """Return the commands of a page, from the block on in which a word is."""
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    start = next(number for number, block in enumerate(blocks) if first in block)
    return [shlex.split(line) for block in blocks[start:] for line in block.splitlines()]


def write_images(root: Path) -> list[tuple[str, str]]:
    """Write ten images, dark and light; return their names and labels."""
    root.mkdir()
    rows = [(f"{number}.png", "light" if number % 2 else "dark") for number in range(10)]
    for name, label in rows:
        Image.new("RGB", (32, 32), "white" if label == "light" else "black").save(root / name)
    return rows


def execute(script: str, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a script in a process of its own."""
    command, variables = [sys.executable, "-c", script], os.environ | (environment or {})
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
