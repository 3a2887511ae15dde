from pathlib import Path

import pytest
from PIL import Image

from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.datasets.voc import CLASSES
from cuter.stream.samples import Box

OBJECT = (
    "<object><name>{name}</name><difficult>{difficult}</difficult>"
    "<bndbox><xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox></object>"
)


def thing(name: str, *corners: float, difficult: int = 0) -> str:
    return OBJECT.format(*(corners or (1, 1, 4, 4)), name=name, difficult=difficult)


def write(folder: Path, images: dict[str, str], **lists: list[str]) -> Path:
    for part in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name, objects in images.items():
        (folder / "Annotations" / f"{name}.xml").write_text(f"<annotation>{objects}</annotation>")
        Image.new("RGB", (8, 8)).save(folder / "JPEGImages" / f"{name}.jpg")
    for name, lines in lists.items():
        (folder / "ImageSets" / "Main" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def year(tmp_path: Path) -> Path:
    images = {
        "000001": thing("dog", 2, 3, 7, 8) + thing("person") + thing("dog"),
        "000002": thing("cat", difficult=1) + thing("car") + thing("car", difficult=1),
        "000003": thing("sofa", difficult=1),
    }
    lists = {"trainval": ["000001", "000002"], "test": ["000003"], "train": ["000001 -1"], "val": ["000002  1"]}
    return write(tmp_path / "VOCdevkit" / "VOC2007", images, **lists)


def test_reads_labels_and_half_open_boxes(year: Path):
    data = load_dataset("voc", year)
    assert data.classes == CLASSES == tuple(sorted(CLASSES))
    assert len(data.classes) == 20
    first = data.train[0]
    assert (first.id, first.labels, first.known) == ("000001", {"dog", "person"}, None)
    assert first.path == year / "JPEGImages" / "000001.jpg"
    assert first.boxes[0] == Box("dog", 1, 2, 7, 8)  # 1-based and inclusive: six pixels wide, six high
    assert [box.label for box in first.boxes] == ["dog", "person", "dog"]


def test_difficult_objects_are_neither_labels_nor_boxes(year: Path):
    data = load_dataset("voc", year)
    assert data.train[1].labels == {"car"}
    assert len(data.train[1].boxes) == 1
    assert data.test[0].labels == frozenset()  # kept all the same: it shows none of the classes


def test_three_roots_give_the_same(year: Path):
    roots = (year, year.parent, year.parent.parent)
    assert [detect(root) for root in roots] == ["voc"] * 3
    assert len({str(load_dataset("voc", root).train) for root in roots}) == 1


def test_other_lists_and_years(year: Path):
    data = load_dataset("voc", year, train="train", test="val")
    assert ([s.id for s in data.train], [s.id for s in data.test]) == (["000001"], ["000002"])
    year.rename(year.parent / "VOC2012")
    assert len(load_dataset("voc", year.parent, year="2012").train) == 2
    with pytest.raises(DataError, match=r"Looked for ImageSets/Main, VOC2007/ImageSets/Main and VOCdevkit/VOC2007"):
        load_dataset("voc", year.parent)


def test_parts_of_a_person_are_not_objects(year: Path):
    part = "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object>"
    write(year, {"000001": thing("person").replace("</object>", part)})
    assert [box.label for box in load_dataset("voc", year).train[0].boxes] == ["person"]


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        (thing("dgo"), r"000001\.xml: object 1: field 'name' is 'dgo'\. Did you mean 'dog'\? Accepted: aeroplane"),
        (thing("dog") + thing("cat", "x", 1, 2, 2), r"object 2: field 'bndbox/xmin' must be a number, not 'x'"),
        (thing("dog", 5, 1, 4, 4), r"object 1: field 'bndbox' must have xmin ≤ xmax"),
        (thing("dog", "nan", 1, 4, 4), r"object 1: field 'bndbox' must have xmin ≤ xmax"),
        ("\n\n<object>", r"000001\.xml line 3: not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>', r"000001\.xml: a document type or an entity is not accepted"),
    ],
)
def test_malformed_annotation(year: Path, objects: str, message: str):
    write(year, {"000001": objects})
    with pytest.raises(DataError, match=message):
        load_dataset("voc", year)


def test_wrong_arguments(year: Path, tmp_path: Path):
    with pytest.raises(DataError, match=r"nowhere: no such folder"):
        load_dataset("voc", tmp_path / "nowhere")
    with pytest.raises(
        DataError, match=r"trainvla\.txt: no such list\. Did you mean 'trainval'\? Accepted: test, train,"
    ):
        load_dataset("voc", year, train="trainvla")
    with pytest.raises(ConfigError, match=r"data set 'voc' has no option 'yaer'\. Did you mean 'year'\?"):
        load_dataset("voc", year, yaer="2007")
    with pytest.raises(DataError, match=r"image '000002' is both in the training and in the test split"):
        load_dataset("voc", year, test="val")


def test_missing_files(year: Path):
    for image in (year / "JPEGImages").iterdir():
        image.unlink()
    with pytest.raises(DataError, match=r"none of the 2 images of the training split exists.*000001\.jpg"):
        load_dataset("voc", year)
    (year / "Annotations" / "000002.xml").unlink()
    with pytest.raises(DataError, match=r"000002\.xml: no such file"):
        load_dataset("voc", year)


def test_list_that_leaves_the_root(year: Path):
    write(year, {}, trainval=["000001", "../../secret"])
    with pytest.raises(
        DataError, match=r"trainval\.txt line 2: '\.\./\.\./secret' must be a path relative to the root"
    ):
        load_dataset("voc", year)
