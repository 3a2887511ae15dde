"""The readers on the real thing: published counts, and counts taken from the files in another way."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

from cuter.stream.datasets import detect, load_dataset
from cuter.stream.images import read_image
from cuter.stream.inspect import inspect
from cuter.stream.samples import Dataset, class_counts

# fmt: off
VOC_2007_TRAINVAL = {
    "aeroplane": 238, "bicycle": 243, "bird": 330, "boat": 181, "bottle": 244, "bus": 186, "car": 713, "cat": 337,
    "chair": 445, "cow": 141, "diningtable": 200, "dog": 421, "horse": 287, "motorbike": 245, "person": 2008,
    "pottedplant": 245, "sheep": 96, "sofa": 229, "train": 261, "tvmonitor": 256,
}
# fmt: on


class TestVoc:
    def test_published_counts(self, voc: Dataset):
        assert (len(voc.train), len(voc.test)) == (5011, 4952)
        assert dict(class_counts(voc.train)) == VOC_2007_TRAINVAL

    def test_boxes_lie_inside_the_image(self, voc: Dataset):
        side = 224  # this copy is squashed
        boxes = [box for sample in voc.train for box in sample.boxes]
        assert len(boxes) > 10_000
        assert all(0 <= box.x1 < box.x2 <= side and 0 <= box.y1 < box.y2 <= side for box in boxes)
        assert min(box.x1 for box in boxes) == 0
        assert max(box.x2 for box in boxes) == side

    def test_train_and_val_share_out_trainval(self, shared: Path, voc: Dataset):
        halves = load_dataset("voc", shared / "data" / "VOCdevkit" / "VOC2007", train="train", test="val")
        assert {s.id for s in (*halves.train, *halves.test)} == {s.id for s in voc.train}

    def test_every_fiftieth_image_decodes(self, voc: Dataset):
        some = Dataset(voc.name, voc.classes, voc.train[::50], voc.test[::50])
        assert inspect(some, "train").unreadable == {}
        assert inspect(some, "test").unreadable == {}


class TestCoco:
    def test_counts_agree_with_the_json(self, shared: Path):
        root = shared / "data" / "coco"
        assert detect(root) == "coco"
        data = load_dataset("coco", root)
        assert len(data.classes) == 80
        assert list(data.classes) == sorted(data.classes)
        for split, samples in (("train", data.train), ("val", data.test)):
            raw = json.loads((root / "annotations" / f"instances_{split}2014.json").read_text())
            pairs = {(a["image_id"], a["category_id"]) for a in raw["annotations"]}
            by_id = Counter(category for _, category in pairs)
            counts = {c["name"]: by_id[c["id"]] for c in raw["categories"] if by_id[c["id"]]}
            assert dict(class_counts(samples)) == counts
            assert len(samples) == len({image for image, _ in pairs})
            assert sum(len(s.boxes) for s in samples) == sum(min(a["bbox"][2:]) > 0 for a in raw["annotations"])
            assert all(s.path.is_file() for s in samples)
        assert read_image(data.train[0].path).size == (256, 256)

    def test_official_file_with_outlines_and_crowds(self, shared: Path, tmp_path: Path):
        source = shared / "formats" / "coco" / "official-instances-small.json"
        raw = json.loads(source.read_text())
        (tmp_path / "annotations").mkdir()
        for split in ("train", "val"):
            content = source.read_text()
            if split == "val":  # the sample is one file: as test split, give its images other names
                content = re.sub(r'("file_name": ")', r"\1v", content)
            (tmp_path / "annotations" / f"instances_{split}2017.json").write_text(content)
            (tmp_path / f"{split}2017").mkdir()
            for image in raw["images"]:
                (tmp_path / f"{split}2017" / f"{'v' * (split == 'val')}{image['file_name']}").touch()
        data = load_dataset("coco", tmp_path, year="2017")
        crowds = sum(a["iscrowd"] for a in raw["annotations"])
        assert crowds > 0
        assert sum(len(s.boxes) for s in data.train) == len(raw["annotations"]) - crowds
        assert sum(len(s.labels) for s in data.train) == len(
            {(a["image_id"], a["category_id"]) for a in raw["annotations"]}
        )


class TestNusWide:
    def test_hash_list(self, shared: Path, tmp_path: Path):
        source = shared / "formats" / "nuswide"
        lines = (source / "hash-list-81.train.head200.txt").read_text().splitlines()
        concepts = (source / "concepts81.txt").read_text().split()
        (tmp_path / "train.txt").write_text("\n".join(lines[:150]))
        (tmp_path / "test.txt").write_text("\n".join(lines[150:]))
        (tmp_path / "images").mkdir()
        for line in lines:
            (tmp_path / line.split()[0]).touch()
        data = load_dataset("nuswide", tmp_path)
        rows = [[int(bit) for bit in line.split()[1:]] for line in lines]
        counts = {
            name: sum(column) for name, column in zip(concepts, zip(*rows, strict=True), strict=True) if any(column)
        }
        assert dict(class_counts([*data.train, *data.test])) == counts
        assert len(data.train) + len(data.test) == sum(any(row) for row in rows)
        shutil.copy(source / "concepts81.txt", tmp_path)
        assert load_dataset("nuswide", tmp_path) == data  # the columns built in are those of the file

    def test_tab_list(self, shared: Path, tmp_path: Path):
        lines = (shared / "formats" / "tab-list.head200.txt").read_text().splitlines()
        (tmp_path / "train.txt").write_text("\n".join(lines[:150]))
        (tmp_path / "test.txt").write_text("\n".join(lines[150:]))
        (tmp_path / "val2014").mkdir()
        for line in lines:
            (tmp_path / "val2014" / line.split("\t")[0].rsplit("/", 1)[1]).touch()
        data = load_dataset("nuswide", tmp_path)
        labels = Counter(label for line in lines for label in set(line.split("\t")[1].split(",")))
        assert class_counts([*data.train, *data.test]) == labels
        assert all(s.path.is_file() for s in (*data.train, *data.test))

    def test_official_image_list(self, shared: Path, tmp_path: Path):
        source = shared / "formats" / "nuswide" / "official-TestImagelist.head200.txt"
        names = source.read_text().split()
        labels = tmp_path / "Groundtruth" / "TrainTestLabels"
        labels.mkdir(parents=True)
        (tmp_path / "ImageList").mkdir()
        shutil.copy(source, tmp_path / "ImageList" / "TestImagelist.txt")
        (tmp_path / "ImageList" / "TrainImagelist.txt").write_text("zoo\\1.jpg\n")
        (labels / "Labels_sky_Train.txt").write_text("1\n")
        (labels / "Labels_sky_Test.txt").write_text("\n".join("01"[i % 2] for i in range(len(names))))
        for name in (*names, "zoo\\1.jpg"):
            path = tmp_path / "Flickr" / name.replace("\\", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        data = load_dataset("nuswide", tmp_path)
        assert [s.id for s in data.test] == [name.replace("\\", "/") for name in names[1::2]]
        assert all(s.path.is_file() for s in data.test)
