"""What users can get wrong. Every message names what was wrong and what is accepted."""

from typing import ClassVar


class CuterError(Exception):
    """Base of all errors that are the input's fault: the command line prints them without a traceback."""

    exit_code: ClassVar[int] = 1  # of the command line: 1 for a mistake in what was asked for


class DataError(CuterError):
    """A data set, an annotation file or an image cannot be read."""

    exit_code = 2  # for data that are missing or damaged


class NotThereError(DataError):
    """There is no such folder or file, or nothing of use in it: it was asked for by mistake."""

    exit_code = 1


class BackboneError(CuterError):
    """A backbone cannot be found, recognised or converted."""


class ConfigError(CuterError):
    """A setting is unknown or out of range."""


class BatchError(CuterError, ValueError):
    """A batch has the wrong shape, type or labels."""


class CheckpointError(CuterError):
    """A saved learner or run is damaged, half-written or of another version."""

    exit_code = 2


class NoLearnerError(CheckpointError):
    """There is no such folder, or nothing in it that a learner could be read from: it was asked for by mistake."""

    exit_code = 1


class UnknownNameError(CuterError, KeyError):
    """A part, class or data set was asked for by a name that does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])
