import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuter.errors import BatchError, UnknownNameError
from cuter.stream.labels import LabelSpace


@given(st.lists(st.lists(st.text(min_size=1).filter(str.strip))))
def test_a_column_never_changes_its_meaning(additions: list[list[str]]) -> None:
    space = LabelSpace()
    for names in additions:
        before = space.names
        new = space.add(names)
        assert space.names[: len(before)] == before
        assert set(new) == set(names) - set(before)
    assert [space.names[space.column(name)] for name in space] == list(space)
    assert len(space) == len({name for names in additions for name in names})


def test_an_unknown_name_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown class 'bicyle'. Did you mean 'bicycle'\?"):
        LabelSpace(["bicycle", "bird"]).column("bicyle")


@pytest.mark.parametrize("bad", ["", "  ", None, 3])
def test_a_name_must_be_text(bad: object) -> None:
    space = LabelSpace(["cat"])
    with pytest.raises(BatchError, match="non-empty string"):
        space.add(["dog", bad])  # type: ignore[list-item]
    assert space.names == ("cat",), "a refused addition must leave nothing behind"
