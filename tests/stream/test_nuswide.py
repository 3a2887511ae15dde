import os
from pathlib import Path

import pytest

from cuter.errors import ConfigError, DataError
from cuter.stream.datasets import detect, load_dataset
from cuter.stream.datasets.nuswide_layouts import CONCEPTS
from cuter.stream.samples import Dataset


def touch(root: Path, *images: str) -> None:
    for image in images:
        (root / image).parent.mkdir(parents=True, exist_ok=True)
        (root / image).touch()


def found(data: Dataset) -> dict[str, set[str]]:
    return {sample.id: set(sample.labels) for sample in (*data.train, *data.test)}


def bits(*present: str, of: tuple[str, ...] = CONCEPTS) -> str:
    return " ".join(str(int(concept in present)) for concept in of)


class TestHashList:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        touch(tmp_path, "images/1.jpg", "images/a b.jpg", "images/3.jpg")
        train = f"images/1.jpg {bits('sky', 'airport')}\nimages/a b.jpg {bits('zebra')}\nimages/4.jpg {bits()}\n"
        (tmp_path / "train.txt").write_text(train)
        (tmp_path / "test.txt").write_text(f"\ufeffimages/3.jpg {bits('person')}\r\n\r\n", encoding="utf-8")
        return tmp_path

    def test_columns_are_the_81_concepts_in_order(self, root: Path):
        assert detect(root) == "nuswide"
        data = load_dataset("nuswide", root)
        assert (len(data.classes), data.classes) == (81, tuple(sorted(CONCEPTS)))
        assert found(data) == {
            "images/1.jpg": {"sky", "airport"},
            "images/a b.jpg": {"zebra"},
            "images/3.jpg": {"person"},  # and 4.jpg, which has no label, is left out
        }
        assert all(sample.path.is_file() for sample in data.train)

    def test_concepts_of_a_file_come_first(self, root: Path):
        (root / "Concepts3.txt").write_text("sky\ncup\nbird\n")
        (root / "train.txt").write_text("images/1.jpg 0 1 0\n")
        (root / "test.txt").write_text("images/3.jpg 1 0 1\n")
        data = load_dataset("nuswide", root)
        assert data.classes == ("bird", "cup", "sky")
        assert found(data) == {"images/1.jpg": {"cup"}, "images/3.jpg": {"sky", "bird"}}

    def test_files_by_name(self, root: Path):
        (root / "train.txt").rename(root / "database.txt")
        assert len(load_dataset("nuswide", root, train="database.txt").train) == 2
        with pytest.raises(DataError, match=r"no list for the test split\. Looked for query\.txt"):
            load_dataset("nuswide", root, train="database.txt", test="query.txt")

    def test_several_candidates(self, root: Path):
        (root / "train.txt").rename(root / "nus_train_1.txt")
        assert len(load_dataset("nuswide", root).train) == 2
        touch(root, "nus_train_2.txt")
        with pytest.raises(
            DataError, match=r"found nus_train_1\.txt, nus_train_2\.txt: name one by the option 'train'"
        ):
            load_dataset("nuswide", root)

    @pytest.mark.parametrize("columns", [bits() + " 0", bits()[:-2], bits().replace("0", "2", 1), "-1 " + bits()[2:]])
    def test_malformed_line(self, root: Path, columns: str):
        (root / "train.txt").write_text(f"images/1.jpg {bits('sky')}\n\nimages/2.jpg {columns}\n")
        with pytest.raises(DataError, match=r"train\.txt line 3: must be a path and 81 columns of 0 or 1"):
            load_dataset("nuswide", root)


class TestOfficial:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        labels = tmp_path / "Groundtruth" / "TrainTestLabels"
        labels.mkdir(parents=True)
        (tmp_path / "ImageList").mkdir()
        (tmp_path / "ImageList" / "TrainImagelist.txt").write_text(
            "actor\\1_10.jpg\r\nactor\\2_20.jpg\r\nzoo\\3_30.jpg\r\n"
        )
        (tmp_path / "ImageList" / "TestImagelist.txt").write_text("actor\\4_40.jpg\n")
        for concept, train, test in (
            ("train", "1\n0\n0\n", "0\n"),
            ("sky", "1\n0\n1\n", "1\n"),
            ("map", "0\n0\n0\n", "0\n"),
        ):
            (labels / f"Labels_{concept}_Train.txt").write_text(train)
            (labels / f"Labels_{concept}_Test.txt").write_text(test)
        touch(tmp_path, "Flickr/actor/1_10.jpg", "Flickr/actor/4_40.jpg")
        return tmp_path

    def test_reads_the_tree(self, root: Path):
        assert detect(root) == "nuswide"
        data = load_dataset("nuswide", root)
        assert data.classes == ("map", "sky", "train")
        assert found(data) == {"actor/1_10.jpg": {"train", "sky"}, "zoo/3_30.jpg": {"sky"}, "actor/4_40.jpg": {"sky"}}
        assert data.train[0].path == root / "Flickr" / "actor" / "1_10.jpg"
        assert not data.train[1].path.exists()  # a missing image is left to the loader, which counts it

    def test_lengths_must_agree(self, root: Path):
        (root / "Groundtruth" / "TrainTestLabels" / "Labels_sky_Train.txt").write_text("1\n0\n")
        with pytest.raises(DataError, match=r"Labels_sky_Train\.txt: has 2 lines, but .*TrainImagelist\.txt lists 3"):
            load_dataset("nuswide", root)

    def test_only_zero_and_one(self, root: Path):
        (root / "Groundtruth" / "TrainTestLabels" / "Labels_sky_Train.txt").write_text("1\n0\nx\n")
        with pytest.raises(DataError, match=r"Labels_sky_Train\.txt line 3: must be 0 or 1, not 'x'"):
            load_dataset("nuswide", root)

    def test_missing_parts(self, root: Path):
        (root / "Groundtruth" / "TrainTestLabels" / "Labels_sky_Test.txt").unlink()
        with pytest.raises(DataError, match=r"Labels_sky_Test\.txt: no such file"):
            load_dataset("nuswide", root)
        (root / "Groundtruth").rename(root / "elsewhere")
        with pytest.raises(
            DataError, match=r"TrainTestLabels: no labels\. Looked for files Labels_<concept>_Train\.txt"
        ):
            load_dataset("nuswide", root)


class TestTabList:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "train.txt").write_text(
            "/media/disk/COCO/val2014/1.jpg\tdog,dining table\n/media/disk/COCO/val2014/2.jpg\t\n"
        )
        (tmp_path / "test.txt").write_text("D:\\data\\val2014\\3.jpg\tcat\n")
        return tmp_path

    @pytest.mark.parametrize("folder", ["", "val2014", "images", "images/val2014", "COCO/val2014"])
    def test_paths_of_another_machine(self, root: Path, folder: str):
        touch(root, os.path.join(folder, "1.jpg"), os.path.join("val2014", "3.jpg"))
        data = load_dataset("nuswide", root)
        assert data.classes == ("cat", "dining table", "dog")
        assert [set(s.labels) for s in data.train] == [{"dog", "dining table"}]
        assert data.train[0].path == root / folder / "1.jpg"
        assert data.test[0].path == root / "val2014" / "3.jpg"

    def test_none_exists(self, root: Path):
        with pytest.raises(DataError, match=r"none of the 1 images of the training split exists, .*val2014/1\.jpg"):
            load_dataset("nuswide", root)

    @pytest.mark.parametrize("line", ["val2014/9.jpg dog", "val2014/9.jpg\tdog\tcat"])
    def test_malformed_line(self, root: Path, line: str):
        (root / "test.txt").write_text(f"val2014/3.jpg\tcat\n{line}\n")
        with pytest.raises(DataError, match=r"test\.txt line 2: must be a path, one tab and labels"):
            load_dataset("nuswide", root)

    def test_paths_stay_inside_the_root(self, root: Path):
        (root / "test.txt").write_text("../../etc/3.jpg\tcat\n")
        with pytest.raises(DataError, match=r"test\.txt line 1: '\.\./\.\./etc/3\.jpg' must be a path relative"):
            load_dataset("nuswide", root)


class TestCsv:
    def write(self, root: Path, text: str) -> Path:
        (root / "nus_wide_data.csv").write_text(text, encoding="utf-8-sig")
        touch(root, "images/1.jpg", "images/2.jpg")
        return root

    @pytest.mark.parametrize("header", ["", "filepath,label,split_name\n"])
    @pytest.mark.parametrize("labels", ["\"['clouds', 'sky']\"", "clouds;sky", '"clouds,sky"', '" clouds , sky "'])
    def test_label_lists(self, tmp_path: Path, header: str, labels: str):
        root = self.write(tmp_path, f"{header}images/1.jpg,{labels},train\n\nimages/2.jpg,['sun'],Val\n")
        assert detect(root) == "nuswide"
        data = load_dataset("nuswide", root)
        assert found(data) == {"images/1.jpg": {"clouds", "sky"}, "images/2.jpg": {"sun"}}
        assert data.classes == ("clouds", "sky", "sun")

    def test_validation_rows_are_left_out_beside_test_rows(self, tmp_path: Path):
        root = self.write(tmp_path, "1.jpg,sky,train\n2.jpg,sun,val\n2.jpg,sun,test\n3.jpg,[],train\n")
        data = load_dataset("nuswide", root)
        assert ([s.id for s in data.train], [s.id for s in data.test]) == (["1.jpg"], ["2.jpg"])

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("9.jpg,sky,dev", r"line 2: the third column must be train, val or test, not 'dev'"),
            ("9.jpg,sky", r"line 2: must have three columns \(path, labels, split\), not 2"),
            ("9.jpg,\"['sky'\",train", r"line 2: the second column is not a list of labels"),
            ("9.jpg,\"[__import__('os').getcwd()]\",train", r"line 2: the second column is not a list of labels"),
            ('9.jpg,"[1, 2]",train', r"line 2: the second column must hold label names only"),
            ('9.jpg,"sky,train', r"line 2: not CSV \(unexpected end of data\)"),
        ],
    )
    def test_malformed_line(self, tmp_path: Path, line: str, message: str):
        root = self.write(tmp_path, f"images/1.jpg,sky,train\n{line}\n")
        with pytest.raises(DataError, match=r"nus_wide_data\.csv " + message):
            load_dataset("nuswide", root)

    def test_a_first_line_with_a_typo_is_no_header(self, tmp_path: Path):
        root = self.write(tmp_path, "images/1.jpg,sky,trian\nimages/2.jpg,sky,test\n")
        with pytest.raises(DataError, match=r"line 1: the third column must be train, val or test, not 'trian'"):
            load_dataset("nuswide", root)

    def test_same_image_twice(self, tmp_path: Path):
        root = self.write(tmp_path, "images/1.jpg,sky,train\nimages/1.jpg,sun,train\nimages/2.jpg,sky,test\n")
        with pytest.raises(DataError, match=r"the training split of 'nuswide' names image 'images/1\.jpg' 2 times"):
            load_dataset("nuswide", root)


def test_layout_that_is_not_there(tmp_path: Path):
    with pytest.raises(DataError, match=r"not a NUS-WIDE folder\. Looked for ImageList/TrainImagelist\.txt, \*\.csv"):
        load_dataset("nuswide", tmp_path)
    with pytest.raises(
        ConfigError, match=r"unknown layout 'offical'\. Did you mean 'official'\? Accepted: csv, hash-list"
    ):
        load_dataset("nuswide", tmp_path, layout="offical")
    with pytest.raises(DataError, match=r"looked for one CSV file .* found none"):
        load_dataset("nuswide", tmp_path, layout="csv")
    (tmp_path / "train.txt").write_text("just words\n")
    with pytest.raises(DataError, match=r"train\.txt line 1: neither 'path<TAB>label,label' nor .* but 'just words'"):
        load_dataset("nuswide", tmp_path)
