"""Teachers answer: what do earlier models say of labels that nobody looked for? One teacher a file."""

from cuter.learn.teachers.base import TEACHERS, Lesson, Teacher

__all__ = ["TEACHERS", "Lesson", "Teacher"]
