"""The catalogue in words: for people, and for programs."""

from .catalogue import Catalogue

COLUMNS = ("ID", "FAMILY", "ARCH", "VERSION", "SIZE", "PINNED")


def as_json(catalogue: Catalogue) -> dict[str, object]:
    """:returns: what ``GET /`` and ``media list --json`` say."""
    return {
        "media": [
            {
                "id": each.id,
                "family": each.family,
                "variant": each.variant,
                "version": each.version,
                "arch": each.architecture,
                "size": each.size,
                "sha256": each.digest,
                "bootable": each.bootable,
                "memory": each.memory,
                "notes": list(each.notes),
            }
            for each in catalogue.entries
        ],
        "problems": [{"source": each.source, "problem": each.text} for each in catalogue.problems],
        "pending": sorted(catalogue.pending),
    }


def size_text(size: int) -> str:
    """:returns: ``size`` bytes in the largest unit that leaves a whole part: ``3.1 GiB``."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    amount, at = float(size), 0
    while amount >= 1024 and at < len(units) - 1:
        amount, at = amount / 1024, at + 1
    return f"{size} B" if at == 0 else f"{amount:.1f} {units[at]}"


def as_text(catalogue: Catalogue) -> str:
    """:returns: a table for people, then the problems."""
    rows = (
        (
            each.id,
            each.family,
            each.architecture or "-",
            each.version or "-",
            size_text(each.size),
            each.digest[:9] if each.digest else "-",
        )
        for each in catalogue.entries
    )
    table = [COLUMNS, *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(COLUMNS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    lines += [f"problem: {each}" for each in catalogue.problems]
    lines += [f"pending: {each}" for each in sorted(catalogue.pending)]
    return "".join(f"{line}\n" for line in lines)
