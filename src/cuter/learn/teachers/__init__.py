"""Teachers answer: what do earlier models say of labels that nobody looked for? One teacher a file."""

from cuter.learn.teachers.base import TEACHERS, Teacher, TeacherOutput

__all__ = ["TEACHERS", "Teacher", "TeacherOutput"]
