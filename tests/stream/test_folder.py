import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import DATASETS, detect, load_dataset
from cuter.stream.datasets.faults import Faults
from cuter.stream.datasets.rows import read_rows
from cuter.stream.labels import clean_name
from cuter.stream.samples import Box, Dataset

TWO = "path,labels,split\n1.jpg,cup,train\n2.jpg,cup,test\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "søk").mkdir()
    for name in ("1.jpg", "2.jpg", "3.jpg", "søk/4.jpg"):
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    return tmp_path


def test_csv_with_everything(root: Path):
    text = (
        "Path, labels ,known,boxes,split\r\n"
        '1.jpg,cup; big lamp ;,cup;big lamp;plant,"[[""cup"", 1, 2, 3.5, 4]]",train\r\n'
        "\r\n"
        '2.jpg,"a, b|æble",,,test\r\n'
        "søk\\4.jpg,,plant,,test\r\n"
        "x/../3.jpg,,,,train\r\n"
    )
    (root / "labels.csv").write_text(text, encoding="utf-8-sig", newline="")
    assert detect(root) == "folder"
    data = load_dataset("folder", root)
    assert data.classes == ("a, b", "big lamp", "cup", "plant", "æble")
    first, third = data.train
    assert (first.labels, first.known) == ({"cup", "big lamp"}, {"cup", "big lamp", "plant"})
    assert first.boxes == (Box("cup", 1, 2, 3.5, 4),)
    assert (third.id, third.labels, third.known) == ("3.jpg", set(), None)
    second, fourth = data.test
    assert (second.labels, second.known) == ({"a, b", "æble"}, None)
    assert (fourth.id, fourth.labels, fourth.known) == ("søk/4.jpg", set(), {"plant"})
    assert fourth.path.is_file()


def test_json_lines_say_the_same(root: Path):
    rows = [
        {
            "path": "1.jpg",
            "labels": ["cup"],
            "known": ["cup", "lamp"],
            "boxes": [["cup", 1, 2, 3, 4]],
            "split": "train",
        },
        {"path": "søk/4.jpg", "labels": [], "known": None, "split": "test"},
        {"path": "2.jpg", "labels": [], "known": [], "split": "test"},
    ]
    (root / "labels.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows))
    data = load_dataset("folder", root)
    assert data.classes == ("cup", "lamp")
    assert data.train[0].boxes == (Box("cup", 1, 2, 3, 4),)
    assert [sample.known for sample in data.test] == [None, frozenset()]


def test_one_file_a_split(root: Path):
    (root / "train.csv").write_text("path,labels\n1.jpg,cup\n")
    (root / "test.jsonl").write_text('{"path": "2.jpg", "labels": ["lamp"]}')
    assert detect(root) == "folder"
    data = load_dataset("folder", root)
    assert ([s.id for s in data.train], [s.id for s in data.test]) == (["1.jpg"], ["2.jpg"])
    assert data.classes == ("cup", "lamp")
    (root / "train.csv").write_text("path,labels,split\n1.jpg,cup,test\n")
    with pytest.raises(DataError, match=r"train\.csv line 2: field 'split' is 'test' in the file of the train split"):
        load_dataset("folder", root)


def test_split_by_hash_is_stable_and_of_the_size_asked_for(root: Path):
    def read(count: int, **options: float) -> tuple[list[str], list[str]]:
        rows = "".join(f"{i}.jpg,cup\n" for i in range(1, count + 1))
        (root / "labels.csv").write_text("path,labels\n" + rows)
        for i in range(1, count + 1):
            (root / f"{i}.jpg").touch()
        data = load_dataset("folder", root, **options)
        return [s.id for s in data.train], [s.id for s in data.test]

    train, test = read(500)
    assert 70 <= len(test) <= 130
    assert len(train) + len(test) == 500
    more_train, more_test = read(600)
    assert set(train) <= set(more_train)
    assert set(test) <= set(more_test)
    assert 220 <= len(read(500, test_share=0.5)[1]) <= 280


@pytest.mark.parametrize("share", [0, 1, -0.1, float("nan")])
def test_share_out_of_range(root: Path, share: float):
    (root / "labels.csv").write_text(TWO)
    with pytest.raises(ConfigError, match=r"option 'test_share' must lie between 0 and 1, not"):
        load_dataset("folder", root, test_share=share)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2.jpg,cup,lamp,,test", r"field 'labels' has 'cup', which is not in field 'known'"),
        ("2.jpg,cup,,,dev", r"field 'split': Input should be 'train' or 'test', not 'dev'"),
        ("2.jpg,cup,,,", r"field 'split' must be train or test in every row, or be missing in all"),
        ("2.jpg,cup", r"has 2 cells, but the header names 5 fields"),
        (",cup,,,test", r"field 'path': String should have at least 1 character"),
        (
            "../2.jpg,cup,,,test",
            r"field 'path': '\.\./2\.jpg' must be a path relative to the root folder that stays inside",
        ),
        ("a/../../2.jpg,cup,,,test", r"field 'path': .* must be a path relative to the root folder"),
        ("/etc/2.jpg,cup,,,test", r"field 'path': '/etc/2\.jpg' must be a path relative to the root folder"),
        ("./1.jpg,cup,,,test", r"field 'path' names '1\.jpg' again, first in .*labels\.csv line 2"),
        ('2.jpg,cup,,"[[""cup"", 1]]",test', r"field 'boxes\[0\]\[2\]': Field required"),
        (
            '2.jpg,cup,,"[[""cup"", 1, 2, 3, ""x""]]",test',
            r"field 'boxes\[0\]\[4\]': Input should be a valid number, not 'x'",
        ),
        (
            '2.jpg,cup,,"[[""cup"", -1, 2, 3, 4]]",test',
            r"field 'boxes\[0\]\[1\]': .*greater than or equal to 0, not '-1'",
        ),
        ('2.jpg,cup,,"[[""cup"", 5, 2, 3, 4]]",test', r"field 'boxes' must have x1 < x2 and y1 < y2, not \[5\.0, 2\.0"),
        (
            '2.jpg,cup,,"[[""cap"", 1, 2, 3, 4]]",test',
            r"field 'boxes' has a box of 'cap', which is not in field 'labels'",
        ),
        ("2.jpg,cup,,[[,test", r"field 'boxes': not JSON"),
        ('2.jpg,"cup,,,test', r"not CSV \(unexpected end of data\)"),
    ],
)
def test_malformed_csv_line(root: Path, line: str, message: str):
    (root / "labels.csv").write_text(f"path,labels,known,boxes,split\n1.jpg,cup,,,train\n\n{line}\n")
    with pytest.raises(DataError, match=r"labels\.csv line 4: " + message):
        load_dataset("folder", root)


@pytest.mark.parametrize(("splits", "line"), [(("train", "dev"), 4), (("dev", "test"), 2)])
def test_a_row_is_named_by_the_line_it_starts_in(root: Path, splits: tuple[str, str], line: int):
    first, second = splits
    (root / "labels.csv").write_text(f'path,labels,boxes,split\n1.jpg,cup,"[\n]",{first}\n2.jpg,cup,,{second}\n')
    with pytest.raises(DataError, match=rf"labels\.csv line {line}: field 'split'"):
        load_dataset("folder", root)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("path,label", r"'label' is none\. Did you mean 'labels'\? Accepted: path, labels, known, boxes, split"),
        ("path;label", r"with commas between them, such as path,labels; 'label' is none"),
        ("path labels", r"with commas between them, such as path,labels; 'path labels' is none"),
        ("path,split", r"the header must name the field 'labels', it has path, split"),
        ("path,labels,labels", r"the header names the field 'labels' twice"),
    ],
)
def test_malformed_header(root: Path, header: str, message: str):
    (root / "labels.csv").write_text(f"{header}\n1.jpg,cup\n")
    with pytest.raises(DataError, match=r"labels\.csv line 1: .*" + message):
        load_dataset("folder", root)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"path": "2.jpg"}', r"field 'labels': Field required"),
        ('{"path": "2.jpg", "labels": "cup"}', r"field 'labels': Input should be a valid list, not 'cup'"),
        ('{"path": "2.jpg", "labels": ["cup", 3]}', r"field 'labels\[1\]': Input should be a valid string, not '3'"),
        ('{"path": "2.jpg", "labels": ["  "]}', r"field 'labels\[0\]': String should have at least 1 character"),
        ('{"path": "2.jpg", "labels": [], "knwon": []}', r"unknown field 'knwon'\. Did you mean 'known'\?"),
        ('{"path": "2.jpg", "labels": ["cup"], "boxes": [["cup", 1, 2, 3, NaN]]}', r"field 'boxes\[0\]\[4\]'"),
        ('{"path": "2.jpg", "labels": ["cup"], "boxes": [["cup", 1, 2, 3, true]]}', r"field 'boxes\[0\]\[4\]'"),
        ('{"path": "\\ud800.jpg", "labels": []}', r"field 'path': "),
        ('{"path": "a\\u0000.jpg", "labels": []}', r"field 'path': .* must be a path relative"),
        ('["2.jpg"]', r"must be a JSON object with the fields path, labels, known, boxes, split"),
        ('{"path": ', r"not JSON"),
        ("[" * 100_000, r"not JSON"),
    ],
)
def test_malformed_json_line(root: Path, line: str, message: str):
    (root / "labels.jsonl").write_text(f'{{"path": "1.jpg", "labels": ["cup"]}}\n{line}\n')
    with pytest.raises(DataError, match=r"labels\.jsonl line 2: " + message):
        load_dataset("folder", root)


def test_files_that_do_not_fit_together(root: Path):
    with pytest.raises(DataError, match=r"needs labels\.csv or labels\.jsonl, or else .* Found none of them"):
        load_dataset("folder", root)
    (root / "train.csv").write_text("path,labels\n1.jpg,cup\n")
    with pytest.raises(DataError, match=r"Found train\.csv"):
        load_dataset("folder", root)
    (root / "labels.csv").write_text(TWO)
    with pytest.raises(DataError, match=r"Found labels\.csv, train\.csv"):
        load_dataset("folder", root)


def test_same_image_in_both_splits(root: Path):
    for split in ("train", "test"):
        (root / f"{split}.csv").write_text("path,labels\n1.jpg,cup\n")
    with pytest.raises(DataError, match=r"image '1\.jpg' is both in the training and in the test split"):
        load_dataset("folder", root)


def test_not_text(root: Path):
    (root / "labels.csv").write_bytes(b"path,labels\n\xff.jpg,cup\n")
    with pytest.raises(DataError, match=r"labels\.csv line 2: not UTF-8 text"):
        load_dataset("folder", root)


def test_no_label_at_all(root: Path):
    (root / "labels.csv").write_text(TWO.replace("cup", ""))
    with pytest.raises(DataError, match="no image has a label"):
        load_dataset("folder", root)


def test_detection_says_what_was_looked_for(root: Path, tmp_path: Path):
    with pytest.raises(
        DataError, match=r"no data set recognised\. Looked for coco: annotations/inst.*; folder: .*'cuter data init .*'"
    ):
        detect(root)
    with pytest.raises(DataError, match=r"gone: no such folder"):
        detect(tmp_path / "gone")
    (root / "labels.csv").write_text(TWO)
    (root / "train.txt").touch()
    with pytest.raises(DataError, match=r"several data sets at once \(folder, nuswide\): say which is meant"):
        detect(root)


def test_an_option_may_come_as_text(tmp_path):
    (tmp_path / "labels.csv").write_text("path,labels\n" + "".join(f"{n}.jpg,cup\n" for n in range(200)))
    for number in range(200):
        (tmp_path / f"{number}.jpg").touch()
    dataset = load_dataset("folder", tmp_path, test_share="0.5")
    assert 60 < len(dataset.test) < 140
    with pytest.raises(ConfigError, match=r"option 'test_share': Input should be a valid number.*not 'half'"):
        load_dataset("folder", tmp_path, test_share="half")


def test_a_list_with_commas_is_not_taken_for_one_class(tmp_path):
    (tmp_path / "labels.csv").write_text('path,labels\n1.jpg,"cat,dog"\n')
    with pytest.raises(DataError, match=r"line 2: field 'labels' is 'cat,dog': names are separated by ';'"):
        load_dataset("folder", tmp_path)


def test_a_file_without_rows(tmp_path):
    (tmp_path / "labels.csv").write_text("path,labels\n")
    with pytest.raises(DataError, match=r"labels\.csv: no rows"):
        load_dataset("folder", tmp_path)


def test_one_class_in_two_spellings_of_unicode(tmp_path):
    (tmp_path / "labels.csv").write_text("path,labels,split\n1.jpg,caf\u00e9,train\n2.jpg,cafe\u0301,test\n")
    (tmp_path / "1.jpg").touch()
    (tmp_path / "2.jpg").touch()
    assert load_dataset("folder", tmp_path).classes == ("caf\u00e9",)


def write(root: Path, text: str, encoding: str = "utf-8") -> None:
    (root / "labels.csv").write_bytes(text.encode(encoding))


@pytest.mark.parametrize(
    "text",
    [
        "path,labels,split\n1.jpg,cup;big lamp,train\n2.jpg,cup,test\n",
        "path,labels,split\n1.jpg,cup|big lamp,train\n2.jpg,cup,test\n",
        "path;labels;split\n1.jpg;cup|big lamp;train\n2.jpg;cup;test\n",
        "path;labels;split\n1.jpg;cup, big lamp;train\n2.jpg;cup;test\n",
        'path;labels;split\n1.jpg;"cup;big lamp";train\n2.jpg;cup;test\n',
        "path\tlabels\tsplit\n1.jpg\tcup;big lamp\ttrain\n2.jpg\tcup\ttest\n",
        "path|labels|split\n1.jpg|cup;big lamp|train\n2.jpg|cup|test\n",
        '"path";"labels";"split"\n"1.jpg";"cup|big lamp";"train"\n"2.jpg";"cup";"test"\n',
        "Split;Path;Labels\ntrain;1.jpg;cup,big lamp\ntest;2.jpg;cup\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_csv_file_in_every_spelling(root: Path, text: str, encoding: str, end: str):
    write(root, text.replace("\n", end), encoding)
    data = load_dataset("folder", root)
    assert [(s.id, set(s.labels)) for s in data.train] == [("1.jpg", {"cup", "big lamp"})]
    assert [(s.id, set(s.labels)) for s in data.test] == [("2.jpg", {"cup"})]


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters=';|,"?'), min_size=1)


@given(
    labels=st.lists(st.lists(NAMES, max_size=3), min_size=2, max_size=4),
    signs=st.sampled_from([(",", ";"), (",", "|"), (";", "|"), (";", ","), ("\t", ";"), ("\t", "|"), ("|", ";")]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_is_written_is_what_is_read(labels: list[list[str]], signs: tuple[str, str], encoding: str, end: str):
    between_cells, between_names = signs
    rows = [f"søk\\{i}.jpg{between_cells}{between_names.join(names)}" for i, names in enumerate(labels)]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), end.join([f"path{between_cells}labels", *rows]), encoding)
        faults = Faults()
        read = read_rows(Path(folder) / "labels.csv", faults)
    assert not faults.found
    assert [(row.path, row.labels) for _, row in read] == [
        (f"søk\\{i}.jpg", [clean_name(name) for name in names]) for i, names in enumerate(labels)
    ]


def test_signs_that_may_mean_two_things_are_refused(root: Path):
    write(root, "path;labels\n1.jpg;cup,lamp|plant\n")
    with pytest.raises(DataError, match=r"line 2: field 'labels' is .* separated by '\|' or by ',', not by both"):
        load_dataset("folder", root)
    write(root, "path\tlabels\n1.jpg\tcup,lamp\n")
    with pytest.raises(DataError, match=r"line 2: field 'labels' is 'cup,lamp': names are separated by ';'"):
        load_dataset("folder", root)
    write(root, "path,labels,known\n1.jpg,cup,'cup,lamp'\n".replace("'", '"'))
    with pytest.raises(DataError, match=r"line 2: field 'known' is 'cup,lamp': names are separated by ';'"):
        load_dataset("folder", root)
    write(root, "path,labels;known\n1.jpg,cup;cup\n")
    with pytest.raises(DataError, match=r"line 1: .*'labels;known' is none"):
        load_dataset("folder", root)


def test_utf_16_that_is_cut_short(root: Path):
    (root / "labels.csv").write_bytes("path,labels\r\n1.jpg,cup".encode("utf-16")[:-1])
    with pytest.raises(DataError, match=r"labels\.csv line 2: not UTF-8 text"):
        load_dataset("folder", root)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("C:\\photos\\1.jpg", "begins with a drive, which other machines do not have"),
        ("d:/photos/1.jpg", "begins with a drive"),
        ("\\\\server\\photos\\1.jpg", "is absolute"),
        ("/photos/1.jpg", "is absolute"),
        ("..\\1.jpg", "leads out of it"),
        ("x/..", "names no file"),
    ],
)
def test_paths_of_another_machine_are_refused_with_the_reason(root: Path, path: str, reason: str):
    write(root, f"path,labels\n{path},cup\n")
    with pytest.raises(DataError, match=rf"labels\.csv line 2: field 'path': .* stays inside it; it {reason}"):
        load_dataset("folder", root)


def test_every_fault_is_told_at_once(root: Path):
    rows = ["1.jpg,cup,train", "2.jpg,cup", "../3.jpg,cup,test", "1.jpg,cup,train", "3.jpg,cup,dev", "4.jpg,cup,"]
    write(root, "\n".join(["path,labels,split", *rows]))
    with pytest.raises(DataError) as caught:
        load_dataset("folder", root)
    first, *lines = str(caught.value).split("\n")
    assert first == "5 faults were found:"
    for number, words in ((3, "has 2 cells"), (4, "leads out"), (5, "again, first in"), (6, "not 'dev'"), (7, "every")):
        assert sum(f"labels.csv line {number}: " in line and words in line for line in lines) == 1, lines


def test_many_faults_are_counted(root: Path):
    (root / "train.jsonl").write_text('{"path": "1.jpg", "labels": ["cup"]}\n' + "nonsense\n" * 30)
    write(root, "")
    (root / "labels.csv").rename(root / "test.csv")
    (root / "test.csv").write_text("path,labels\n2.jpg,cup\n" + "2.jpg,cup\n" * 1000)
    with pytest.raises(DataError) as caught:
        load_dataset("folder", root)
    lines = str(caught.value).split("\n  ")
    assert lines[0] == "1,030 faults were found:"
    assert len(lines) == 22
    assert lines[-1] == "and 1,010 more"


def test_images_that_nobody_has_looked_at_yet_teach_nothing(root: Path, caplog: pytest.LogCaptureFixture):
    write(root, "path,labels,split\n1.jpg,cup,train\n2.jpg,,test\n3.jpg, ? ,\nsøk/4.jpg,?,\n")
    data = load_dataset("folder", root)
    assert ([s.id for s in data.train], [s.id for s in data.test]) == (["1.jpg"], ["2.jpg"])
    assert "labels.csv: 2 images are not annotated yet" in caplog.text
    (root / "labels.csv").unlink()
    (root / "labels.jsonl").write_text('{"path": "1.jpg", "labels": null}')
    with pytest.raises(DataError, match=r"labels\.jsonl: no image is annotated yet"):
        load_dataset("folder", root)
    (root / "labels.jsonl").unlink()
    write(root, "path,labels\n1.jpg,cup;?\n")
    with pytest.raises(DataError, match=r"line 2: field 'labels' is 'cup;\?': '\?' says that nobody has looked yet"):
        load_dataset("folder", root)


def test_names_that_are_easily_confused(root: Path, caplog: pytest.LogCaptureFixture):
    write(root, "path,labels,split\n1.jpg,cup;Big lamp,train\n2.jpg,Cup;cu\u200bp;big  lamp,test\n")
    assert len(load_dataset("folder", root).classes) == 5
    (record,) = caplog.records
    told = record.getMessage()
    assert record.name.startswith("cuter")
    for name in ("cup", "Cup", "cu\u200bp", "Big lamp", "big  lamp"):
        assert repr(name) in told


@pytest.mark.parametrize("letter", ["\x07", "\x00", "\x9f", "\t", "\n"])
def test_control_characters_in_a_class_name_are_refused(root: Path, letter: str):
    write(root, f'path,labels\n1.jpg,"cu{letter}p"\n')
    with pytest.raises(DataError, match=r"line 2: field 'labels\[0\]': A class name must not hold control characters"):
        load_dataset("folder", root)


def test_control_characters_are_refused_whoever_reads_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(DATASETS._parts, "own", lambda root: Dataset("own", ("cup", "la\x1bmp"), [], []))
    with pytest.raises(DataError, match=r"data set 'own': class names must not hold control .*'la\\x1bmp'"):
        load_dataset("own", tmp_path)
