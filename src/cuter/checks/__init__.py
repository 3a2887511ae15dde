"""Checks that every part of the package passes, for the tests of those who write parts of their own.

Each raises `AssertionError` with a sentence that says what does not hold. They draw the same numbers every time, take
seconds, and need neither a network nor a test framework:

    from cuter.checks import check_memory

    def test_coin() -> None:
        check_memory("coin")

The single checks are in `MEMORY_CHECKS`, `HEAD_CHECKS`, `TEACHER_CHECKS` and `METHOD_CHECKS`, functions of the name of
a part, so that a test framework can report them one by one.
"""

from cuter.checks.heads import HEAD_CHECKS, check_head
from cuter.checks.memories import MEMORY_CHECKS, check_memory
from cuter.checks.methods import METHOD_CHECKS, check_method
from cuter.checks.teachers import TEACHER_CHECKS, check_teacher

__all__ = [
    "HEAD_CHECKS",
    "MEMORY_CHECKS",
    "METHOD_CHECKS",
    "TEACHER_CHECKS",
    "check_head",
    "check_memory",
    "check_method",
    "check_teacher",
]
