"""The list of methods."""

from cuter.learn.recipe import METHODS
from cuter.show.methods import PARTS, describe_methods, methods_table


def test_every_method_is_there_with_its_parts() -> None:
    found = {method["method"]: method for method in describe_methods()}
    assert list(found) == list(METHODS)
    assert all(list(method["parts"]) == list(PARTS) for method in found.values())
    assert found["krt"]["parts"] == {
        "keeper": "whole-images",
        "memory": "reservoir",
        "head": "class-attention",
        "teacher": "pseudo",
        "regulariser": "none",
    }
    assert found["krt"]["settings"] == {"teacher.token_weight": 80.0, "head.lr": 0.003}
    assert found["finetune"]["parts"]["memory"] == "none"
    assert found["joint"]["settings"]["task_scope"] == "all-tasks"
    assert found["cuter+fiedler"]["parts"]["regulariser"] == "fiedler"


def test_the_table_names_all_of_them_and_fits_the_terminal() -> None:
    for width in (80, 140):
        text = methods_table(describe_methods(), width).plain
        assert max(map(len, text.splitlines())) <= width
        words = text.replace(",", " ").replace(".\n", " ").rstrip(".").split()
        assert set(METHODS) <= set(words)
        (row,) = [line for line in text.splitlines() if line.startswith("agcn++")]
        assert row.split() == ["agcn++", "whole-images", "reservoir", "label-graph", "soft-graph"]


def test_in_a_narrow_terminal_parts_are_below_their_method() -> None:
    for width in (40, 60):
        text = methods_table(describe_methods(), width).plain
        assert max(map(len, text.splitlines())) <= width, "so that the terminal breaks no line"
        lines = text.splitlines()
        at = lines.index("agcn++")
        told = " ".join(line.strip() for line in lines[at + 1 : at + 4])
        assert told.startswith("keeper whole-images, memory reservoir, head label-graph, teacher soft-graph")
