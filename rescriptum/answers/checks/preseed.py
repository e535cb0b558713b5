"""
Preseed files of Debian's installer, and of Ubuntu's old one.

Facts: appendix B.3 of Debian's installation guide, and ``debconf-set-selections`` of debconf, which
reads the lines. A question that is answered in a line that cannot be read is asked on the console.
"""

import re
from collections.abc import Iterator

from attrs import evolve, frozen

from .finding import Checked, Finding, either, hint, nearest, problem, warning
from .shape import shown, words

_TYPES = words("select boolean string multiselect note password text title")
_FLAGS = words("seen")
_INSTALLER = "d-i"
#: Questions that nobody asks but the installer, by what stands before the slash.
_ITS_OWN = frozenset(
    words(
        "anna apt-setup base-installer clock-setup debian-installer finish-install grub-installer "
        "hw-detect mirror netcfg network-console partman partman-auto partman-auto-crypto "
        "partman-auto-lvm partman-auto-raid partman-lvm partman-md pkgsel preseed time"
    )
)
#: Who else answers them: Ubuntu's desktop installer.
_OWNERS = frozenset({_INSTALLER, "ubiquity", "unknown"})

_LINE = re.compile(r"\s*(\S+)\s+(\S+)\s+(\S+)(?:\s(.*))?", re.DOTALL)


@frozen
class _Line:
    """
    One answer, as many lines of the file as it takes.

    :ivar number: of the first of them.
    """

    number: int
    text: str


def check(data: bytes) -> Checked:
    """Lines of owner, question, type and value."""
    return Checked.of("preseed", _findings(data.decode("utf-8", "replace")))


def _findings(text: str) -> Iterator[Finding]:
    answered: dict[tuple[str, str], int] = {}
    for item in _joined(text):
        if isinstance(item, Finding):
            yield item
            continue
        found = _LINE.match(item.text)
        if found is None:
            said = "want owner, question, type and value, as d-i time/zone string UTC"
            yield problem(said, line=item.number)
            continue
        owner, question, kind, value = found.groups()
        if kind not in (*_TYPES, *_FLAGS):
            yield problem(_no_type(item.text, kind), line=item.number)
            continue
        yield from _answer(owner, question, kind, value or "", item.number)
        first = answered.setdefault((question, "seen" if kind == "seen" else ""), item.number)
        if first != item.number:
            said = f"{question} is answered in line {first} too: the last one counts"
            yield evolve(warning(said, line=item.number), repeats=True)


def _joined(text: str) -> Iterator[_Line | Finding]:
    """Lines that go on joined, comments and blank lines left out."""
    lines = iter(enumerate((each.rstrip("\r") for each in text.split("\n")), 1))
    for number, line in lines:
        whole, last = line, line
        while last.endswith("\\") and (more := next(lines, None)) is not None:
            last = more[1]
            whole = whole[:-1] + last
            if _is_comment(line) and _LINE.match(last) and not _is_comment(last):
                said = "this comment ends in \\ and takes the next line with it"
                yield warning(said, line=number)
        if last.rstrip().endswith("\\") and not last.endswith("\\"):
            said = "blanks behind the \\: the line does not go on; remove them"
            if not _is_comment(line):
                yield warning(said, line=number)
        if whole.strip() and not _is_comment(whole):
            yield _Line(number, whole)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _no_type(line: str, kind: str) -> str:
    """What stands there is not repeated: it may be a password, whose type was forgotten."""
    said = f"want a type before the value: {either(_TYPES)}{hint(kind, _TYPES)}"
    if "/" in line.split(None, 2)[1] and not line[:1].isspace():
        return said
    return f"{said}; if this goes on from the line above, end that one with \\"


def _answer(owner: str, question: str, kind: str, value: str, line: int) -> Iterator[Finding]:
    prefix = question.partition("/")[0]
    if "/" not in question:
        yield warning(
            f"{shown(question)} is no question: want one as netcfg/get_hostname", "", line
        )
    elif owner not in _OWNERS and (
        prefix in _ITS_OWN or nearest(owner.replace(":", ""), (_INSTALLER, "debian-installer"))
    ):
        said = f"the owner of {question} is {_INSTALLER}, not {shown(owner)}"
        yield warning(said, "", line)
    if kind == "boolean":
        if value.strip() not in ("true", "false"):
            yield problem(f"{question}: want true or false, not {shown(value.strip())}", "", line)
        elif value != value.strip():
            yield warning(f"{question}: the blanks around {value.strip()} belong to it", "", line)
