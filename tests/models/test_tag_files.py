"""Files are tagged: every form is read back, and nothing that happens meanwhile changes a byte."""

import csv
import dataclasses
import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from pyarrow import parquet

from cuter import Learner
from cuter.errors import BatchError, ConfigError, CuterError
from cuter.models import file_tagging as module
from cuter.models import tag_formats
from cuter.models.file_tagging import tag_files
from cuter.models.fingerprint import fingerprint
from cuter.models.image_paths import ImagePaths
from cuter.models.tagging import Asked, Tagged, tag_batches
from cuter.models.work_file import WorkFile
from cuter.runs.stopping import Interrupted
from cuter.stream.images import path_text
from malformed import malformed_images

FORK = multiprocessing.get_context("fork")
BATCH = 4
EVERYTHING = Asked(regions=True, all_scores=True)


def tag(learner: Learner, photos: Path, out: Path, asked: Asked = EVERYTHING, **options: Any) -> module.TagSummary:
    options = {"batch_size": BATCH, "workers": 0, **options}
    return tag_files(learner, ImagePaths([photos]), out, asked, **options)


def rows_of(learner: Learner, paths: list[Path], asked: Asked, **options: Any) -> list[Tagged]:
    batches = tag_batches(learner, paths, asked, **{"batch_size": BATCH, "workers": 0, **options})
    return [row for batch in batches for row in batch]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, learner: Learner, photos: Path) -> Path:
    """The files as they are if nothing happens."""
    folder = tmp_path_factory.mktemp("whole")
    for kind in ("csv", "jsonl", "parquet"):
        tag(learner, photos, folder / f"tags.{kind}")
    assert {file.name for file in folder.iterdir()} == {"tags.csv", "tags.jsonl", "tags.parquet"}
    return folder


@pytest.fixture
def damaged(tmp_path: Path, photos: Path) -> Path:
    """Twenty files that are no images, or not whole ones, among good ones."""
    folder = tmp_path / "damaged"
    folder.mkdir()
    good = sorted((photos / "images").iterdir())
    jpeg = tmp_path / "good.jpg"
    Image.open(good[0]).save(jpeg)
    rng = random.Random(0)
    for number in range(20):
        data = (jpeg if number % 2 else good[0]).read_bytes()
        cut = data[: rng.randrange(len(data) // 2)]
        wrong = (cut, b"", rng.randbytes(200), b"GIF89a" + bytes(9), b"<html>" + data)[number % 5]
        (folder / f"{number:02d}.{'jpg' if number % 2 else 'png'}").write_bytes(wrong)
    for number, file in enumerate(good[:9]):
        shutil.copy(file, folder / f"{2 * number:02d} good.png")
    return folder


def test_rows_have_what_predict_says(learner: Learner, photos: Path) -> None:
    paths = list(ImagePaths([photos]))
    wanted = learner.predict(paths, BATCH, regions=True)
    rows = rows_of(learner, paths, EVERYTHING)
    for row, prediction in zip(rows, wanted, strict=True):
        scores = {name: round(value, 6) for name, value in prediction.probabilities.items()}
        assert row.scores == scores
        assert row.labels == {name: value for name, value in scores.items() if prediction.probabilities[name] > 0.5}
        assert list(row.labels.values()) == sorted(row.labels.values(), reverse=True)
        assert row.boxes == prediction.boxes
    boxes = [box for row in rows for box in (row.boxes or {}).values()]
    assert None in boxes
    assert any(boxes)
    plain = rows_of(learner, paths, Asked())
    assert [row.scores for row in plain] == [row.boxes for row in plain] == [None] * len(paths)
    for row, scores in zip(plain, learner.predict(paths, BATCH), strict=True):
        assert set(row.labels) == {name for name, score in scores.items() if score > 0.5}
    assert rows_of(learner, paths, EVERYTHING, workers=2) == rows


def test_thresholds_of_classes_go_before_the_one_for_all(learner: Learner, photos: Path) -> None:
    paths = list(ImagePaths([photos]))
    rows = rows_of(learner, paths, Asked(0.9, {"circle": 0.0, "cross": 1.0}, all_scores=True))
    assert all("circle" in row.labels and "cross" not in row.labels for row in rows)
    for row in rows:
        for name, score in (row.scores or {}).items():
            assert name in ("circle", "cross") or (name in row.labels) == (score > 0.9)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "0.5", None, True])
def test_a_threshold_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="the threshold cat must lie between 0 and 1, not"):
        Asked(0.5, {"cat": wrong})


def test_mistakes_are_told_before_anything_is_written(learner: Learner, photos: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"threshold for 'circel', but the model knows no such class.*'circle'"):
        tag(learner, photos, tmp_path / "tags.csv", Asked(thresholds={"circel": 0.3}))
    with pytest.raises(ConfigError, match=r"written as \.csv, \.jsonl, \.parquet, not as \.xls"):
        tag(learner, photos, tmp_path / "tags.xls")
    with pytest.raises(BatchError, match="batch_size must be at least 1"):
        tag_batches(learner, [], batch_size=0)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ConfigError, match="is a folder"):
        tag(learner, photos, tmp_path / "folder.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_json_lines(whole: Path, learner: Learner, photos: Path) -> None:
    rows = [json.loads(line) for line in (whole / "tags.jsonl").read_text().splitlines()]
    wanted = rows_of(learner, list(ImagePaths([photos])), EVERYTHING)
    assert rows == [json.loads(json.dumps(row.as_dict())) for row in wanted]
    assert list(rows[0]) == ["path", "labels", "scores", "boxes", "error"]


def test_csv(whole: Path, learner: Learner, photos: Path) -> None:
    with (whole / "tags.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    wanted = rows_of(learner, list(ImagePaths([photos])), EVERYTHING)
    assert list(rows[0]) == ["path", "labels", "probabilities", "error", "boxes", *learner.labels.names]
    for row, one in zip(rows, wanted, strict=True):
        labels = dict(zip(row["labels"].split(";"), map(float, row["probabilities"].split(";")), strict=True))
        assert (row["path"], labels, row["error"]) == (str(one.path), one.labels, "")
        assert json.loads(row["boxes"]) == json.loads(json.dumps(one.boxes))
        assert {name: float(row[name]) for name in learner.labels.names} == one.scores


def test_parquet(whole: Path, learner: Learner, photos: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = parquet.read_table(whole / "tags.parquet")
    assert table.column_names == ["path", "labels", "probabilities", "error", "boxes", *learner.labels.names]
    for row, one in zip(table.to_pylist(), rows_of(learner, list(ImagePaths([photos])), EVERYTHING), strict=True):
        assert (row["path"], row["labels"], row["error"]) == (str(one.path), list(one.labels), None)
        assert row["probabilities"] == pytest.approx(list(one.labels.values()))
        assert {name: row[name] for name in learner.labels.names} == pytest.approx(one.scores)
        assert {name for name, box in row["boxes"] if box} == {name for name, box in (one.boxes or {}).items() if box}
    monkeypatch.setattr(tag_formats, "GROUP", 7)
    tag(learner, photos, tmp_path / "tags.parquet")
    assert parquet.read_table(tmp_path / "tags.parquet").equals(table)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'cuter\[parquet\]'"):
        tag(learner, photos, tmp_path / "other.parquet")


def test_what_is_not_asked_for_is_not_there(learner: Learner, photos: Path, tmp_path: Path) -> None:
    for kind in ("csv", "jsonl", "parquet"):
        tag(learner, photos, tmp_path / f"tags.{kind}", Asked())
    assert (tmp_path / "tags.csv").read_text().splitlines()[0] == "path,labels,probabilities,error"
    assert list(json.loads((tmp_path / "tags.jsonl").read_text().splitlines()[0])) == ["path", "labels", "error"]
    assert parquet.read_table(tmp_path / "tags.parquet").num_columns == 4


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are Unicode there")
def test_names_of_any_kind(learner: Learner, photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    names = [
        b"caf\xe9.png",
        "日本 «猫».png".encode(),
        b"two\nlines.png",
        b'"a", b;c.png',
        b"=1+1.png",
        b"bad\xff\n.png",
    ]
    good = next((photos / "images").iterdir()).read_bytes()
    for name in names:
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_bytes(b"?" if b"bad" in name else good)
    wanted = [(bytes(folder) + b"/" + name).decode("utf-8", "backslashreplace") for name in sorted(names)]
    for kind in ("csv", "jsonl", "parquet"):
        summary = tag(learner, folder, tmp_path / f"tags.{kind}")
        assert (summary.images, summary.unreadable) == (6, 1)
    with (tmp_path / "tags.csv").open(newline="", encoding="utf-8") as file:
        assert [row["path"] for row in csv.DictReader(file)] == wanted
    lines = (tmp_path / "tags.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["path"] for line in lines] == wanted
    assert parquet.read_table(tmp_path / "tags.parquet")["path"].to_pylist() == wanted


def test_classes_that_are_called_as_a_column(photos: Path, tmp_path: Path) -> None:
    learner = Learner.create("rs", backbone="toybox", device="cpu")
    learner.grow(["path", "cat", "boxes"])
    paths = sorted((photos / "images").iterdir())[:2]
    for kind in ("csv", "parquet"):
        tag_files(learner, paths, tmp_path / f"tags.{kind}", Asked(all_scores=True), workers=0)
    columns = ["path", "labels", "probabilities", "error", "score of path", "cat", "score of boxes"]
    assert (tmp_path / "tags.csv").read_text().splitlines()[0].split(",") == columns
    assert parquet.read_table(tmp_path / "tags.parquet").column_names == columns


@pytest.mark.parametrize("asked", [Asked(), EVERYTHING])
def test_files_that_cannot_be_read_have_rows(learner: Learner, damaged: Path, tmp_path: Path, asked: Asked) -> None:
    for kind in ("csv", "jsonl", "parquet"):
        summary = tag(learner, damaged, tmp_path / f"tags.{kind}", asked, workers=1)
        assert (summary.images, summary.unreadable, len(summary.reasons)) == (29, 20, 10)
    rows = [json.loads(line) for line in (tmp_path / "tags.jsonl").read_text().splitlines()]
    assert [Path(row["path"]).name for row in rows] == sorted(path.name for path in damaged.iterdir())
    for row in rows:
        assert ("good" in row["path"]) == (row["error"] is None)
        assert row["error"] is None or (row["labels"] == {} and "cannot read the image" in row["error"])
    assert sum(one is not None for one in parquet.read_table(tmp_path / "tags.parquet")["error"].to_pylist()) == 20
    nothing_else = [path.name for path in tmp_path.iterdir() if path.name not in ("damaged", "good.jpg")]
    assert sorted(nothing_else) == ["tags.csv", "tags.jsonl", "tags.parquet"]


def test_a_model_without_classes_says_nothing(photos: Path, tmp_path: Path) -> None:
    summary = tag(Learner.create("rs", backbone="toybox", device="cpu"), photos, tmp_path / "tags.csv")
    assert (summary.images, summary.unreadable) == (40, 0)


def test_no_images_give_an_empty_file(learner: Learner, tmp_path: Path) -> None:
    assert tag_files(learner, [], tmp_path / "tags.csv").images == 0
    assert (tmp_path / "tags.csv").read_text() == "path,labels,probabilities,error\n"


def test_killed_at_fifty_moments_it_gives_the_same_bytes(
    learner: Learner, photos: Path, whole: Path, tmp_path: Path
) -> None:
    rng, kills, ends = random.Random(0), 0, 0
    started = time.monotonic()
    tag(learner, photos, tmp_path / "timed.csv")
    usual = time.monotonic() - started
    while kills < 50:
        kind = ("csv", "jsonl", "parquet")[ends % 3]
        out, options = tmp_path / f"tags.{kind}", {"workers": 1 if ends % 4 == 3 else 0}
        process = FORK.Process(target=tag, args=(learner, photos, out), kwargs=options)
        process.start()
        process.join(rng.uniform(0, usual * 1.2))
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            kills += 1
        if out.exists() and not out.with_name(f"{out.name}.part").exists():
            assert out.read_bytes() == (whole / out.name).read_bytes(), f"after {kills} kills"
            ends += 1
            out.unlink()
        else:
            assert process.exitcode == -signal.SIGKILL, "what was left could not be gone on with"
    assert ends >= 3


def interrupted(learner: Learner, photos: Path, out: Path, after: int, **options: Any) -> None:
    """Tag until so many images are done, then stop as by Ctrl-C."""

    def progress(done: int) -> None:
        if done >= after:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        tag(learner, photos, out, progress=progress, **options)


def test_ctrl_c_after_each_batch(learner: Learner, photos: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "tags.csv"
    for done in range(BATCH, 40, BATCH):
        interrupted(learner, photos, out, done)
        assert (tmp_path / "tags.csv.part").read_bytes().count(b"\n") == 1 + done
        assert not out.exists()
    numbers: list[int] = []
    summary = tag(learner, photos, out, progress=numbers.append)
    assert numbers == [36, 40]
    assert (summary.images, summary.tagged) == (40, 4)
    assert out.read_bytes() == (whole / "tags.csv").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["tags.csv"]


@pytest.fixture
def half(learner: Learner, photos: Path, tmp_path: Path) -> Path:
    """A work file of three batches."""
    interrupted(learner, photos, tmp_path / "tags.csv", 12)
    return tmp_path / "tags.csv.part"


def test_a_work_file_that_is_cut_anywhere(
    learner: Learner, photos: Path, whole: Path, tmp_path: Path, half: Path
) -> None:
    data = half.read_bytes()
    header = data.index(b"\n")
    for length in (0, 1, header, header + 1, *random.Random(0).sample(range(header + 2, len(data)), 12)):
        half.write_bytes(data[:length])
        tag(learner, photos, tmp_path / "tags.csv")
        assert (tmp_path / "tags.csv").read_bytes() == (whole / "tags.csv").read_bytes(), length
        (tmp_path / "tags.csv").unlink()
    half.write_bytes(data[:-300] + bytes(300) + b"\n")  # as after a power cut
    tag(learner, photos, tmp_path / "tags.csv")
    assert (tmp_path / "tags.csv").read_bytes() == (whole / "tags.csv").read_bytes()


def test_a_work_file_of_something_else_is_left_alone(
    learner: Learner, photos: Path, whole: Path, tmp_path: Path, half: Path
) -> None:
    out, before = tmp_path / "tags.csv", half.read_bytes()
    other = Learner.from_state(learner.state_dict(), "cpu")
    with torch.no_grad():
        next(iter(other.model.head.parameters()))[0, 0] += 1e-3
    for asked, model, options, message in (
        (EVERYTHING, other, {}, "with another model, or this one has changed since"),
        (dataclasses.replace(EVERYTHING, threshold=0.6), learner, {}, r"another threshold \(0.5, now 0.6\)"),
        (dataclasses.replace(EVERYTHING, thresholds={"star": 0.1}), learner, {}, "another thresholds"),
        (Asked(all_scores=True), learner, {}, r"another regions \(True, now False\)"),
        (EVERYTHING, learner, {"batch_size": 5}, r"another batch size \(4, now 5\)"),
        (EVERYTHING, learner, {"draw": print}, "another draw"),
    ):
        with pytest.raises(ConfigError, match=f"tags.csv.part was begun .*{message}.*: begin anew with --restart"):
            tag(model, photos, out, asked, **options)
    with pytest.raises(ConfigError, match=r"begun with other images: number 2 was .*, and now is .*--restart"):
        tag_files(learner, list(ImagePaths([photos]))[::2], out, EVERYTHING, batch_size=BATCH)
    with pytest.raises(ConfigError, match=r"begun with other images: number 3 was .*, and now there is none"):
        tag_files(learner, list(ImagePaths([photos]))[:2], out, EVERYTHING, batch_size=BATCH)
    assert half.read_bytes() == before
    half.write_text("my own notes\n")
    with pytest.raises(ConfigError, match="by another program or version"):
        tag(learner, photos, out)
    tag(learner, photos, out, restart=True)
    assert out.read_bytes() == (whole / "tags.csv").read_bytes()


def test_a_finished_file_is_replaced_only_if_asked(learner: Learner, photos: Path, tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "tags.csv"
    out.write_text("mine")
    for restart in (False, True):
        with pytest.raises(ConfigError, match="is there already: choose another --out, or replace it with --overwrite"):
            tag(learner, photos, out, restart=restart)
    interrupted(learner, photos, out, 8, overwrite=True)
    with pytest.raises(ConfigError, match="is there already: replace it with --overwrite"):
        tag(learner, photos, out)
    assert out.read_text() == "mine"
    assert tag(learner, photos, out, overwrite=True).tagged == 0
    assert out.read_bytes() == (whole / "tags.csv").read_bytes()


def test_killed_when_the_file_is_in_its_place(
    learner: Learner, photos: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = module._put_in_place
    with monkeypatch.context() as patch:

        def put_and_die(*given: Any) -> None:
            put(*given)
            raise KeyboardInterrupt

        patch.setattr(module, "_put_in_place", put_and_die)
        with pytest.raises(KeyboardInterrupt):
            tag(learner, photos, tmp_path / "tags.csv")
    assert (tmp_path / "tags.csv.part").exists()
    tag(learner, photos, tmp_path / "tags.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["tags.csv"]
    assert (tmp_path / "tags.csv").read_bytes() == (whole / "tags.csv").read_bytes()


def test_two_processes_do_not_write_the_same_file(learner: Learner, photos: Path, tmp_path: Path) -> None:
    out, refused = tmp_path / "tags.csv", []

    def second(done: int) -> None:
        if done == 8:
            with pytest.raises(ConfigError, match=r"tags\.csv is in use by another process") as found:
                tag(learner, photos, out)
            refused.append(found)

    def in_a_process(done: int) -> None:
        if done == 8:
            process = FORK.Process(target=second, args=(done,))
            process.start()
            process.join()
            refused.append(process.exitcode)

    tag(learner, photos, out, progress=in_a_process)
    assert refused == [0]


def test_a_full_disk_loses_nothing(
    learner: Learner, photos: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        """A file that takes so many bytes more, then a part of what is written, then none."""

        def __init__(self, file: Any, room: int):
            self.file, self.room = file, room

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: Any) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            taken = self.file.write(data[: self.room])
            self.room -= taken
            return taken

    out, begin = tmp_path / "tags.csv", WorkFile._begin
    for room in (10, 3000, 6000):
        with monkeypatch.context() as patch:

            def on_a_small_disk(work: WorkFile, room: int = room) -> int:
                work.file = Full(work.file, room)  # type: ignore[assignment]
                return begin(work)

            patch.setattr(WorkFile, "_begin", on_a_small_disk)
            with pytest.raises(CuterError, match=r"tags\.csv\.part cannot be written: No space left.*the same command"):
                tag(learner, photos, out)
        assert not out.exists()
    with monkeypatch.context() as patch:

        def refuse(*_: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        patch.setattr(module, "sync", refuse)
        with pytest.raises(CuterError, match=r"tags\.csv cannot be written: No space left.*All images are done"):
            tag(learner, photos, out)
        assert [path.name for path in tmp_path.iterdir()] == ["tags.csv.part"]
    tag(learner, photos, out)
    assert out.read_bytes() == (whole / "tags.csv").read_bytes()


def test_a_place_that_cannot_be_written_is_told(learner: Learner, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CuterError, match=r"tags\.csv cannot be written: "):
        tag(learner, photos, tmp_path / "file" / "tags.csv")


def test_rows_are_drawn_before_they_count(learner: Learner, photos: Path, tmp_path: Path) -> None:
    drawn: list[Path] = []
    interrupted(learner, photos, tmp_path / "tags.csv", 8, draw=lambda row: drawn.append(row.path))
    assert len(drawn) == 8
    tag(learner, photos, tmp_path / "tags.csv", draw=lambda row: drawn.append(row.path))
    assert drawn == list(ImagePaths([photos]))


def test_paths_are_asked_for_only_some_batches_ahead(learner: Learner, photos: Path) -> None:
    asked = 0

    def endless() -> Iterator[Path]:
        nonlocal asked
        paths = list(ImagePaths([photos]))
        while True:
            asked += 1
            yield paths[asked % len(paths)]

    batches = tag_batches(learner, endless(), batch_size=2, workers=1)
    for _ in range(30):
        next(batches)
    assert asked <= 2 * (30 + 8)


def test_the_fingerprint_is_of_what_predicts(learner: Learner, model: Path) -> None:
    own = fingerprint(learner)
    again = Learner.load(model, device="cpu")
    assert fingerprint(again) == own
    again.memory.forget(["0"])
    again.steps += 1
    assert fingerprint(again) == own
    again.labels.add(["more"])
    assert fingerprint(again) != own


def test_a_thousand_malformed_files_have_a_row_each(learner: Learner, tmp_path: Path) -> None:
    (tmp_path / "wild").mkdir()
    paths = [path for path in malformed_images(tmp_path / "wild") if path.is_file()]
    rows = rows_of(learner, paths, Asked(), batch_size=64)
    assert [row.path for row in rows] == paths
    unread = [row for row in rows if row.error]
    assert len(unread) > 500
    for row in unread:
        assert path_text(row.path) in str(row.error)
        assert not row.labels
    assert len(rows) > len(unread), "some are only odd"
