"""XML as bytes: which characters they are, and everything around the root element."""

import codecs
import re
from typing import Self

from attrs import evolve, frozen
from lxml import etree

from ...errors import MalformedDocument

#: Of elements within each other; libxml2 has a bound too, which has been moved before.
MAX_DEPTH = 100

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
#: Not everything that Python calls an encoding is one of characters, or quick.
_KNOWN = re.compile(r"(utf-?8|us-ascii|ascii|iso-?8859-?\d+|latin-?\d+|(windows-|cp)125\d)")

_DECLARATION = re.compile(r"<\?xml\s[^>]*\?>\s*")
_PROLOG = re.compile(
    r"""(?:\s+|<!--.*?-->|<\?.*?\?>
    |(?P<doctype><!DOCTYPE(?:[^"'\[>]|"[^"]*"|'[^']*')*
      (?:\[(?:<!--.*?-->|<\?.*?\?>|"[^"]*"|'[^']*'|[^\]"'])*\]\s*)?>))*""",
    re.DOTALL | re.VERBOSE,
)
_TOO_DEEP = etree.XPath("boolean(/" + "/".join("*" * (MAX_DEPTH + 1)) + ")")
_PLACE = re.compile(r"(,? line \d+)?(, column \d+)?( \(.*\))?$")


@frozen(eq=False)
class Markup:
    """
    A document taken apart.

    :ivar declared: whether it begins with an XML declaration.
    :ivar prolog: what stands before the root element, the declaration left out.
    :ivar doctype: the one in the prolog, or nothing.
    :ivar root: of the tree, which may be changed.
    """

    declared: bool
    prolog: str
    doctype: str
    root: etree._Element

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """
        Nothing is fetched, from the network or from files, and no entity is expanded.

        :raises MalformedDocument: with the line.
        """
        text = _decode(data).replace("\r\n", "\n").replace("\r", "\n")
        parser = etree.XMLParser(
            encoding="utf-8",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            strip_cdata=False,
        )
        try:
            root = etree.fromstring(text.encode("utf-8"), parser)
        except etree.XMLSyntaxError as e:
            reason = _PLACE.sub("", e.msg or "it cannot be parsed")
            raise MalformedDocument(f"line {max(e.lineno or 1, 1)}: not XML: {reason}") from None
        _refuse(text, root, parser)
        declaration = _DECLARATION.match(text)
        prolog = _PROLOG.match(text, declaration.end() if declaration else 0)
        assert prolog is not None  # it may be empty
        return cls(declaration is not None, prolog[0], prolog["doctype"] or "", root)

    def under(self, other: Self) -> Self:
        """:returns: with a declaration and a DOCTYPE if ``other`` has them; the root is its own."""
        prolog, doctype = self.prolog, self.doctype
        if not doctype and other.doctype:
            prolog, doctype = f"{other.doctype}\n{prolog}", other.doctype
        return evolve(
            self, declared=self.declared or other.declared, prolog=prolog, doctype=doctype
        )

    def written(self) -> str:
        """
        :returns: all of it as it is now: what follows the root, comments, on lines of their own.
        """
        declaration = '<?xml version="1.0" encoding="UTF-8"?>\n' if self.declared else ""
        nodes = [self.root, *self.root.itersiblings()]
        lines = [etree.tostring(each, encoding="unicode", with_tail=False) for each in nodes]
        return declaration + self.prolog + "\n".join(lines) + "\n"


def _decode(data: bytes) -> str:
    encoding, data = _encoding(data)
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as e:
        at = e.start if isinstance(e, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, at) + 1
        raise MalformedDocument(f"line {line}: not {encoding}") from None


def _encoding(data: bytes) -> tuple[str, bytes]:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, data[len(mark) :]
    if data[:2] in (b"<\0", b"\0<"):
        return ("utf-16-le" if data[0] else "utf-16-be"), data
    declared = _DECLARED.match(data)
    name = declared[1].decode("ascii").lower() if declared else "utf-8"
    if not _KNOWN.fullmatch(name):
        raise MalformedDocument(f"line 1: want UTF-8, not the encoding {name}")
    return name, data


def _refuse(text: str, root: etree._Element, parser: etree.XMLParser) -> None:
    # Attributes have them expanded whatever the parser is told: a DOCTYPE may declare none.
    doctype = root.getroottree().docinfo.internalDTD
    if doctype is not None and (at := text.find("<!ENTITY")) >= 0:
        line = text.count("\n", 0, at) + 1
        raise MalformedDocument(f"line {line}: entities of a DOCTYPE are not expanded")
    for entry in parser.error_log:
        if entry.type == etree.ErrorTypes.WAR_UNDECLARED_ENTITY:
            raise MalformedDocument(f"line {entry.line}: not XML: {entry.message}")
    if _TOO_DEEP(root):
        raise MalformedDocument(f"line 1: elements within more than {MAX_DEPTH} others")
