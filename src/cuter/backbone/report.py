"""What happened when weights were loaded."""

from dataclasses import dataclass

from cuter.errors import BackboneError


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Where a backbone's weights came from, and what did not fit.

    missing: weights of the module that the source lacks and that no forward uses (a lack of any other is an error);
    left_over: names in the source that the encoder has no place for (heads, decoders, projectors).
    """

    source: str
    architecture: str
    missing: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.architecture} from {self.source}"]
        if self.missing:
            lines.append(f"  not in the source, and not needed: {some(self.missing)}")
        if self.left_over:
            lines.append(f"  in the source, but not used: {some(self.left_over)}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def require_all(source: str, missing: list[str]) -> tuple[str, ...]:
    """Return the missing names that no forward uses; raise if any other is missing."""
    if needed := [name for name in missing if not name.endswith(NEVER_READ)]:
        raise BackboneError(f"{source} lacks {len(needed)} weights of its encoder: {some(needed)}")
    return tuple(missing)


# The mask token stands in for hidden patches in pre-training; the batch counter only matters without momentum.
NEVER_READ = ("mask_token", "num_batches_tracked")


def some(names: list[str] | tuple[str, ...], most: int = 6) -> str:
    """List the first names and count the others."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
