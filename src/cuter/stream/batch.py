"""The contract between a stream and a learner."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cuter.errors import BatchError
from cuter.stream.labels import clean_name


@dataclass(frozen=True, slots=True)
class Batch:
    """Images with what is known of their labels. Unknown is never negative.

    images: uint8 (B, 3, H, W); labels and known: bool (B, C); names: the C class names by column; ids: B sample ids.
    visible: bool (B, rows, columns), which patches of each image there are; None: all, as in every stream. What is
    replayed may be a part of an image.

    Raises:
        BatchError: Shapes or types do not fit together, or an image has a label that nobody looked for.

    Examples:
        >>> import torch
        >>> from cuter import Batch
        >>> images = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
        >>> batch = Batch.of(images, [["cat"], ["dog", "cat"]])
        >>> batch.names, batch.labels.tolist()
        (('cat', 'dog'), [[True, False], [True, True]])
    """

    images: Tensor
    labels: Tensor
    known: Tensor
    names: tuple[str, ...]
    ids: tuple[str, ...]
    visible: Tensor | None = None

    def __post_init__(self) -> None:
        size = len(self.ids)
        images, shape = self.images, (size, len(self.names))
        check_images(images)
        if len(images) != size:
            raise BatchError(f"Batch.images holds {len(images)} images, but Batch.ids names {size}")
        for field, value in (("labels", self.labels), ("known", self.known)):
            if value.dtype != torch.bool or tuple(value.shape) != shape:
                raise BatchError(
                    f"Batch.{field} must be bool of shape {shape} (images, names), "
                    f"not {value.dtype} {tuple(value.shape)}"
                )
        if len(set(self.names)) != len(self.names):
            raise BatchError("Batch.names holds a class twice")
        if bool((self.labels & ~self.known).any()):
            row, column = (self.labels & ~self.known).nonzero()[0].tolist()
            raise BatchError(
                f"image {self.ids[row]!r} has label {self.names[column]!r}, but Batch.known says nobody looked for it"
            )

    @classmethod
    def of(
        cls,
        images: Tensor,
        labels: Sequence[Sequence[str]],
        known: Sequence[str] | Sequence[Sequence[str]] | None = None,
        ids: Sequence[object] | None = None,
    ) -> Batch:
        """Build a batch from label names.

        `known` lists the classes that somebody looked for: one list of names for all images, or one list an image.
        By default these are all the names that occur in `labels`.

        Args:
            images: uint8 (B, 3, H, W).
            labels: The classes that each image shows.
            known: The classes that somebody looked for.
            ids: Names of the images, as their paths; by default their numbers.

        Returns:
            A batch whose columns are the known classes, in their order.

        Raises:
            BatchError: These are no images, or the lists do not fit to them.

        Examples:
            >>> import torch
            >>> from cuter import Batch
            >>> images = torch.zeros(2, 3, 32, 32, dtype=torch.uint8)
            >>> batch = Batch.of(images, [["cat"], []], known=[["cat"], ["cat", "dog"]])
            >>> batch.known.tolist()  # nobody looked for dogs in the first image
            [[True, False], [True, True]]
        """
        check_images(images)
        given = _name_lists(labels, "labels")
        if len(given) != len(images):
            raise BatchError(f"{len(images)} images, but {len(given)} lists of labels")
        if known is None:
            rows = [list(dict.fromkeys(name for row in given for name in row))] * len(images)
        elif isinstance(known, Collection) and not isinstance(known, str) and all(isinstance(k, str) for k in known):
            rows = _name_lists([[str(name) for name in known]], "known") * len(images)
        else:
            rows = _name_lists(known, "known")
        if len(rows) != len(images):
            raise BatchError(f"{len(images)} images, but {len(rows)} lists of known classes")
        names = tuple(dict.fromkeys(name for row in (*rows, *given) for name in row))
        return cls(
            images=images,
            labels=membership(given, names),
            known=membership(rows, names),
            names=names,
            ids=tuple(map(str, range(len(images)) if ids is None else ids)),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def to(self, device: torch.device | str) -> Batch:
        """Move all tensors to a device."""
        names = ("images", "labels", "known", "visible")
        tensors = {name: tensor.to(device) for name in names if (tensor := getattr(self, name)) is not None}
        return replace(self, **tensors)

    def aligned(self, names: tuple[str, ...]) -> Batch:
        """Return the same batch over these columns; classes that this batch does not name are unknown."""
        if names == self.names:
            return self
        position = {name: column for column, name in enumerate(names)}
        if missing := [name for name in self.names if name not in position]:
            raise BatchError(f"class {missing[0]!r} of the batch is not among the {len(names)} columns asked for")
        columns = torch.tensor([position[name] for name in self.names], dtype=torch.long, device=self.labels.device)
        labels = self.labels.new_zeros(len(self), len(names))
        known = labels.clone()
        labels[:, columns] = self.labels
        known[:, columns] = self.known
        return replace(self, labels=labels, known=known, names=names)


def check_images(images: object) -> None:
    """Refuse what is not a stack of images, and say how to mend it."""
    wanted = "images must be a uint8 tensor of shape (B, 3, H, W)"
    if not isinstance(images, Tensor):
        raise BatchError(f"{wanted}, not {type(images).__name__}; read_images makes one of files")
    found = f"not {images.dtype} {tuple(images.shape)}"
    if images.ndim == 4 and images.shape[1] != 3 and images.shape[3] == 3:
        raise BatchError(f"{wanted}, {found}; images.permute(0, 3, 1, 2) puts channels first")
    if images.dtype != torch.uint8 or images.ndim != 4 or images.shape[1] != 3:
        raise BatchError(f"{wanted}, {found}")
    if not images.shape[2] * images.shape[3]:
        raise BatchError(f"images are {images.shape[2]}×{images.shape[3]} pixels: there is nothing to see")


def _name_lists(rows: Sequence[Collection[str]], field: str) -> list[list[str]]:
    """Check that these are lists of class names, one for each image, and clean the names."""
    wanted = f"{field} must be a list of class names for each image, such as [['cat'], []]"
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise BatchError(f"{wanted}, not {rows!r}")
    for row in rows:
        if not isinstance(row, list | tuple | set | frozenset) or not all(isinstance(name, str) for name in row):
            raise BatchError(f"{wanted}, not {row!r}")
    return [[clean_name(name) for name in row] for row in rows]


def membership(rows: Sequence[Collection[str]], names: Sequence[str]) -> Tensor:
    """Return a bool matrix (rows, names): which names each row holds."""
    position = {name: column for column, name in enumerate(names)}
    matrix = torch.zeros(len(rows), len(position), dtype=torch.bool)
    for index, row in enumerate(rows):
        for name in row:
            matrix[index, position[name]] = True
    return matrix
