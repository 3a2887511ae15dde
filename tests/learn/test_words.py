"""Word vectors from a file, and what is told when it is not as it should be."""

import logging
from pathlib import Path

import pytest
import torch

from cuter.backbone import Backbone
from cuter.errors import ConfigError
from cuter.learn.learner import Learner
from cuter.learn.words import check_word_vectors, vectors_of_names
from cuter.stream.batch import Batch

GLOVE = "the 0.1 0.2 0.3\ndining 1 0 0\ntable 0 2 0\ncat -1 -1 4e-1\n"


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    (tmp_path / "glove.txt").write_text(GLOVE)
    return tmp_path / "glove.txt"


def test_a_name_of_several_words_is_their_mean(glove: Path) -> None:
    found = vectors_of_names(glove, 3, ["Dining_Table", "cat", "dining table", "a table"])
    expected = [[0.5, 1, 0], [-1, -1, 0.4], [0.5, 1, 0], [0, 2, 0]]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_a_name_without_a_vector_is_told(glove: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="cuter"):
        found = vectors_of_names(glove, 3, ["zebra", "cat"])
    assert found[0].isnan().all()
    assert found[1].tolist() == pytest.approx([-1, -1, 0.4])
    assert "no vector for the class 'zebra'" in caplog.text
    assert "cat" not in caplog.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the 0.1 0.2\n", "line 1: a word and 3 numbers were expected (word_dim), not 2 numbers"),
        ("the 0.1 0.2 0.3 0.4\n", "line 1: a word and 3 numbers were expected (word_dim), not 4 numbers"),
        ("", "line 1: a word and 3 numbers were expected (word_dim), not 0 numbers"),
        ("the 0.1 x 0.3\n", "line 1: could not convert string to float: 'x'"),
        ("the 0.1 nan 0.3\n", "line 1: a number is not finite"),
    ],
)
def test_a_wrong_file_is_told_before_anything_is_loaded(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "words.txt"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        check_word_vectors(file, 3)
    assert str(error.value) == f"word_vectors {file}, {message}"


def test_a_wrong_line_is_told_with_its_number(glove: Path) -> None:
    glove.write_text(GLOVE.replace("0 2 0", "0 2"))
    with pytest.raises(ConfigError, match=r"glove\.txt, line 3: a word and 3 numbers were expected"):
        vectors_of_names(glove, 3, ["table"])


def test_a_file_that_is_not_there_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"word_vectors .*gone\.txt: cannot be read: .*No such file"):
        check_word_vectors(tmp_path / "gone.txt", 3)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"word_vectors .*binary: cannot be read"):
        check_word_vectors(tmp_path / "binary", 3)
    with pytest.raises(ConfigError, match=r"gone\.txt"):
        Learner.create("agcn", backbone="nowhere", head={"word_vectors": tmp_path / "gone.txt"})


def batch(names: list[str], seed: int = 0) -> Batch:
    images = torch.randint(256, (2, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))
    return Batch.of(images, [names[:1], names])


def test_a_learner_takes_words_for_its_classes_and_goes_on_without_the_file(
    tiny: Backbone, glove: Path, tmp_path: Path
) -> None:
    one = Learner.create(
        "agcn", backbone=tiny, device="cpu", head={"word_vectors": glove, "word_dim": 3}, memory={"images": 4}
    )
    one.observe(batch(["cat"]))
    one.observe(batch(["table", "zebra"]))
    words = torch.cat([block.detach() for block in one.model.head.embeddings])  # type: ignore[union-attr]
    torch.testing.assert_close(words[:2], torch.tensor([[-1, -1, 0.4], [0.0, 2, 0]]))
    one.save(tmp_path / "saved")
    glove.unlink()
    two = Learner.load(tmp_path / "saved", device="cpu")
    for both in (one, two):
        both.observe(batch(["cat", "table"], 1))
    assert two.predict(batch(["cat"]).images) == one.predict(batch(["cat"]).images)


def test_a_file_that_vanishes_changes_nothing(tiny: Backbone, glove: Path) -> None:
    one = Learner.create("agcn", backbone=tiny, device="cpu", head={"word_vectors": glove, "word_dim": 3})
    one.observe(batch(["cat"]))
    glove.unlink()
    with pytest.raises(ConfigError, match=r"glove\.txt: cannot be read"):
        one.observe(batch(["dog"]))
    assert one.labels.names == ("cat",)
    assert one.model.head.blocks == [1]
    assert one.teacher.earlier is None
    assert one.observe(batch(["cat"], 1)).images == 2
