"""The reference page, written from the tables of the code: ``make reference``."""

import sys
from collections.abc import Iterable, Sequence

from attrs import fields

from ..answers import events as answers_events
from ..answers.formats.table import ALIASES, FORMATS
from ..boot import events
from ..boot.loaders import ARCHITECTURES
from ..media.families.table import FAMILIES, UNKNOWN
from ..proxydhcp import events as dhcp_events
from ..settings import SETTINGS
from ..snippets.formats import FORMATS as SNIPPETS
from ..web.routing import STATUSES

_NOTE = "Made by `make reference` from the tables in the code; a test fails when they differ."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """:returns: a table of a page."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _settings() -> Iterable[Sequence[str]]:
    for each in SETTINGS:
        default = each.default if each.default is not None else each.derived
        shown = _code(default) if each.default is not None else default
        yield (_code(each.variable), _code(each.path), shown, each.help)


def _architectures() -> Iterable[Sequence[str]]:
    for row in ARCHITECTURES:
        loader = _code(row.loader) if row.loader is not None else "not served"
        yield (f"`0x{row.code:04x}`", row.client, loader, row.transport.name, row.tag)


def _snippets() -> Iterable[Sequence[str]]:
    for each in SNIPPETS:
        names = ", ".join(_code(name) for name in (each.name, *each.synonyms))
        yield (names, each.server, _code(each.bios), "yes" if each.v6 else "no")


def _formats() -> Iterable[Sequence[str]]:
    for row in FORMATS:
        aliases = [name for name, formats in ALIASES.items() if row in formats]
        yield (
            _code(row.extension),
            row.family.name,
            _code(row.media_type),
            ", ".join(_code(name) for name in aliases),
        )


def _families() -> Iterable[Sequence[str]]:
    for each in FAMILIES:
        text = sys.modules[each.recognise.__module__].__doc__ or ""
        yield (_code(each.name), text.strip().partition("\n")[0])
    yield (_code(UNKNOWN), "Served whole; the menu offers it as a disc.")


def public_events() -> list[type[events.Event]]:
    """:returns: every event that can be recorded, in the order of the way."""
    found = [
        each
        for module in (dhcp_events, events, answers_events)
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, events.Event)
        if each is not events.Event and not name.startswith("_")
    ]
    links = ("dhcp", "loader", "script", "kernel", "image", "answer", "installed", "admin")
    return sorted(found, key=lambda each: (links.index(each.link), each.name))


def _events() -> Iterable[Sequence[str]]:
    for each in public_events():
        names = ", ".join(field.name for field in fields(each))
        yield (_code(each.name), each.link, each.level.name, names)


def page() -> str:
    """:returns: ``docs/reference.md``."""
    sections = (
        ("Settings", ("Variable", "TOML", "Default", "What it is"), _settings()),
        ("Architectures", ("Option 93", "Client", "Loader", "By", "Tag"), _architectures()),
        ("DHCP snippets", ("`--format`", "Server", "BIOS machines get", "DHCPv6"), _snippets()),
        ("Document formats", ("Extension", "Family", "Content-Type", "Asked by"), _formats()),
        ("Installer families", ("Family", "What it is"), _families()),
        ("Events", ("Name", "Link", "Level", "Fields"), _events()),
        (
            "HTTP statuses",
            ("Error", "Status"),
            ((_code(code), str(status)) for code, status in STATUSES.items()),
        ),
    )
    parts = [f"# Reference\n\n{_NOTE}\n"]
    parts += [f"## {title}\n\n{table(head, rows)}" for title, head, rows in sections]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
