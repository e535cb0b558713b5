"""
Whom a document claims that cannot be read: those machines are to get an error, never another
group or the default.

Too many identities do little harm, a lost one may install the wrong system. So what looks like a
member is one, up to where the list can no longer go on.
"""

import codecs
import html
import json
import re
from collections.abc import Iterator

from attrs import frozen


@frozen
class Salvaged:
    """
    What is left of a document.

    :ivar members: identities, as written.
    :ivar doubtful: whether it may claim requests that nobody can tell: it speaks of ``match``, or
        of members that cannot be made out, or is no text.
    """

    members: tuple[str, ...] = ()
    doubtful: bool = True


def salvage(family: str, data: bytes) -> Salvaged:
    """
    :param family: the name of a family of formats.
    :param data: any bytes; what is done grows with their number and no faster.
    """
    if not data:
        return Salvaged()
    text, doubtful = _decoded(data)
    scan = {"xml": _xml, "text": _lines}.get(family, _structured)
    members: dict[str, None] = {}
    for each in scan(text):
        if each is None:
            doubtful = True
        elif _LETTER.search(each):
            members[each.strip()] = None
    return Salvaged(tuple(members), doubtful)


#: A text, whether or not it ends, or what opens or closes something.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\]]', re.DOTALL)
_ROOT = re.compile(r"<([\w:.-]+)")


def breaks_off(family: str, data: bytes) -> bool:
    """
    Whether the end of a document is missing: it may be half written, and whom it claims may be
    said in the other half.

    :param family: the name of a family of formats.
    :param data: any bytes.
    """
    text, _ = _decoded(data)
    if not text.strip():
        return True
    if family == "json":
        marks = _TOKEN.findall(text)
        return sum(map(marks.count, "{[")) > sum(map(marks.count, "}]"))
    if family == "xml":
        root = _ROOT.search(text)
        return root is None or re.search(rf"</{root[1]}\s*>\s*\Z", text) is None
    return not text.endswith(("\n", "\r")) or text.rstrip().endswith((",", "["))


def may_match(family: str, data: bytes) -> bool:
    """
    Whether a machine's document, which has a name to claim by, claims by ``match`` too.

    :param family: the name of a family of formats.
    :param data: any bytes; a ``match`` within something else is its installer's.
    """
    text, _ = _decoded(data)
    if family == "text":
        return None in _lines(text)
    return (_XML_MATCH if family == "xml" else _TOP_MATCH).search(text) is not None


_LETTER = re.compile(r"[0-9A-Za-z]")
_OTHER = re.compile(r"[^0-9A-Za-z]")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)


def _decoded(data: bytes) -> tuple[str, bool]:
    """:returns: the text, and whether anything in it is none."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8-sig")
    try:
        return data.decode(encoding), False
    except UnicodeDecodeError:
        return data.decode(encoding, "replace"), True


#: Members one by one, and None for each place where there may be some that cannot be told.
Found = Iterator[str | None]

_MATCH = re.compile(
    r"""["']match["']
    |(?:^[ \t]*|[{,]\s*)["']?match["']?[ \t]*(?:[:=.{]|$)
    |^[ \t]*\[+[ \t]*["']?match\b""",
    re.MULTILINE | re.VERBOSE,
)
#: Where a table of TOML or YAML begins at the top; of JSON, which may be one line, anywhere.
_TOP_MATCH = re.compile(
    r"""^["']?match["']?[ \t]*(?:[:=.{]|$)
    |^\[+[ \t]*["']?match\b
    |[{,]\s*"match"\s*(?:[:{]|$)""",
    re.MULTILINE | re.VERBOSE,
)
#: Up to where its value begins: behind a tag or an anchor of YAML's, too.
_KEY = re.compile(
    r"""(?:^[ \t]*|[{,]\s*)["']?members?["']?(?:[ \t]*(?:[:=][ \t]*)+|[ \t]+(?=["'])|[ \t]*(?=\[))
    (?:[&!]\S*[ \t]*)*""",
    re.MULTILINE | re.VERBOSE,
)
_BLANK = re.compile(r"(?:\s+|#[^\n]*)*")
_BLANK_LINES = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*")
_LINE = re.compile(r"([ \t]*)([^\n]*)\n?")
_QUOTED = re.compile(r"""("(?:[^"\\\n]|\\[^\n])*")|'((?:[^'\n]|'')*)'""")
_UNCLOSED = re.compile(r"""["']([^\n]*)""")
_PLAIN = re.compile(r"""[^\s,\[\]{}"'#][^,\[\]{}"'#\n]*""")
_WORD = re.compile(r"[0-9A-Za-z_.:-]+")
_IS_KEY = re.compile(r"[ \t]*[:=]")
_HAS_KEY = re.compile(r":\s|:$|=")


def _structured(text: str) -> Found:
    if _MATCH.search(text):
        yield None
    at = 0
    while found := _KEY.search(text, at):
        blank = _BLANK.match(text, found.end())
        start = blank.end() if blank else found.end()
        members: list[str] = []
        if text.startswith("[", start):
            at = _flow(text, start + 1, len(text), members)
        elif (line := text.rfind("\n", found.end(), start)) >= 0:
            at = _block(text, line + 1, members)
        else:
            end = text.find("\n", start)
            at = _flow(text, start, len(text) if end < 0 else end, members)
        told = [each for each in members if _LETTER.search(each) and not each.startswith("*")]
        yield from told
        if len(told) < len(members) or not (members or text.startswith("]", at - 1)):
            yield None


def _flow(text: str, at: int, end: int, members: list[str]) -> int:
    """
    Texts and words with commas between, as in brackets.

    :returns: where they end: behind a bracket, or at what can be no member.
    """
    separated = True
    while True:
        blank = _BLANK.match(text, at, end)
        at = blank.end() if blank else at
        if text.startswith(",", at, end):
            at, separated = at + 1, True
        elif text.startswith("]", at, end):
            return at + 1
        elif quoted := _QUOTED.match(text, at, end):
            if _IS_KEY.match(text, quoted.end(), end):
                return at
            members.append(_unquoted(quoted))
            at, separated = quoted.end(), False
        elif unclosed := _UNCLOSED.match(text, at, end):
            members += [each for each in re.split(r"""[,\[\]"']""", unclosed[1]) if each.strip()]
            at, separated = unclosed.end(), True
        elif plain := _PLAIN.match(text, at, end):
            word = plain[0].strip()
            if _HAS_KEY.search(plain[0]) or not (separated or _WORD.fullmatch(word)):
                return at
            members.append(word)
            at, separated = plain.end(), False
        else:
            return at


def _block(text: str, at: int, members: list[str]) -> int:
    """
    Lines that begin with a dash, or with blanks and one word where a dash was forgotten.

    :returns: where the first other line begins.
    """
    while True:
        blank = _BLANK_LINES.match(text, at)
        line = _LINE.match(text, blank.end() if blank else at)
        assert line is not None  # it may be empty
        content = line[2].strip()
        if content.startswith("-") and not content.startswith("---"):
            content = content[1:].strip()
        elif not (line[1] and (_WORD.fullmatch(content) or _QUOTED.fullmatch(content))):
            return line.start()
        quoted = _QUOTED.match(content)
        # What is no text but a table has its identity as the value.
        plain = content.partition(" #")[0].rpartition(": ")[2].strip("\"' ")
        if content:
            members.append(_unquoted(quoted) if quoted else plain)
        at = line.end()


def _unquoted(quoted: re.Match[str]) -> str:
    if quoted[1] is None:
        return quoted[2].replace("''", "'")
    try:
        return str(json.loads(quoted[1]))
    except ValueError:
        return quoted[1][1:-1]


_XML_MATCH = re.compile(r"<\s*(?:[\w.-]+:)?match\b")
_XML_MEMBER = re.compile(
    r"<\s*(?:[\w.-]+:)?(?:answer-meta|members?)(?:\s[^<>]*)?>(?:\s*<!\[CDATA\[)?([^<]*)"
)


def _xml(text: str) -> Found:
    if _XML_MATCH.search(text):
        yield None
    for each in (text, "".join(_uncommented(text))):
        for found in _XML_MEMBER.finditer(each):
            yield from re.split(r"[,\n]", html.unescape(found[1]))


def _uncommented(text: str) -> Iterator[str]:
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        yield text[at:start]
        at = end + 3
    yield text[at:]


_CONTROL = re.compile(r"^[ \t]*(?:#|//)[ \t]*answer:[ \t]*(\S*)(.*)", re.IGNORECASE | re.MULTILINE)


def _lines(text: str) -> Found:
    """A verb is a member's or a match's by its first letter: it may be what is misspelt."""
    for verb, rest in _CONTROL.findall(text):
        if not verb.lower().startswith("m"):
            continue
        if verb.lower().startswith("mat") or "=" in rest:
            yield None
            continue
        for each in rest.split(","):
            yield each
            words = each.split()
            if all(len(_OTHER.sub("", word)) >= 6 for word in words):  # a comma was forgotten
                yield from words
