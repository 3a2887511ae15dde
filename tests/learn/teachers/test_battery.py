"""One battery for every teacher: a new one is covered the moment its file exists."""

from dataclasses import replace

import pytest

from cuter.checks import TEACHER_CHECKS, check_teacher
from cuter.checks.battery import Check
from cuter.learn.model import View
from cuter.learn.teachers import TEACHERS
from cuter.learn.teachers.base import Teacher, TeacherOutput
from cuter.stream.batch import Batch

AROUND = {"soft-graph": {"head": "label-graph"}}


@pytest.mark.parametrize("teacher", list(TEACHERS))
@pytest.mark.parametrize("check", TEACHER_CHECKS, ids=lambda check: check.__name__)
def test_it_holds_what_every_teacher_promises(teacher: str, check: Check) -> None:
    check(teacher, **AROUND.get(teacher, {}))


class KnowsBetter(Teacher):
    def teach(self, old_view: View, view: View, batch: Batch) -> TeacherOutput:
        return TeacherOutput(replace(batch, labels=~batch.labels & batch.known), view.logits.new_zeros(()))


def test_what_does_not_hold_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TEACHERS._parts, "mine", KnowsBetter)
    with pytest.raises(AssertionError, match="teacher 'mine': the teacher contradicts known labels"):
        check_teacher("mine")
