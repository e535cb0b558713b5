"""
XML for installers: AutoYaST's profiles, and Windows' answer files.

Facts: the AutoYaST guide of SLE 15 and openSUSE Leap (sections 2.3 and 4; families C3 for Agama,
which converts profiles), and Microsoft's Windows Setup reference: configuration passes, and the
attributes of ``component`` in ``unattend.xsd``.
"""

import re
from collections.abc import Iterator

from lxml import etree

from .finding import Checked, Finding, either, hint, problem, warning
from .shape import shown, words

_YAST = "http://www.suse.com/1.0/yast2ns"
_CONFIG = "http://www.suse.com/1.0/configns"
_UNATTEND = "urn:schemas-microsoft-com:unattend"

_TYPES = words("list map boolean integer symbol string disksize date")
_BOOLEAN = re.compile(r"\s*(true|false)\s*")
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
#: Sections of a profile that are lists, and are taken for something else without the word.
_LISTS = words("partitioning users groups user_defaults_list")
_PASSES = words("windowsPE offlineServicing generalize specialize auditSystem auditUser oobeSystem")
_ATTRIBUTES = words("name processorArchitecture publicKeyToken language versionScope")
_ARCHITECTURES = words("x86 amd64 arm arm64 wow64 ia64")
_DEPTH = 64


def check_autoyast(data: bytes) -> Checked:
    """What ends in ``.autoyast`` is a profile, or the rules for choosing one."""
    return _checked(data, ("profile", "autoinstall"))


def check_unattend(data: bytes) -> Checked:
    """What ends in ``.unattend`` is for Windows."""
    return _checked(data, ("unattend",))


def check(data: bytes) -> Checked:
    """XML may be anybody's: its root says whose."""
    return _checked(data, ())


def _checked(data: bytes, roots: tuple[str, ...]) -> Checked:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as e:
        return Checked.of("XML", [problem(f"not XML: {e}")])
    name = etree.QName(root).localname
    if roots and name not in roots:
        return Checked.of("XML", [problem(f"want the root {either(roots)}, not {shown(name)}")])
    if name == "profile":
        return Checked.of("AutoYaST profile", _profile(root))
    if name == "unattend":
        return Checked.of("Windows answer file", _unattend(root))
    return Checked("AutoYaST rules" if name == "autoinstall" and roots else "")


def _namespace(root: etree._Element, wanted: str) -> Iterator[Finding]:
    found = etree.QName(root).namespace
    if found != wanted:
        said = f'want xmlns="{wanted}"' + (f", not {shown(found)}" if found else "")
        yield problem(said, f"/{etree.QName(root).localname}")


def _profile(root: etree._Element) -> Iterator[Finding]:
    yield from _namespace(root, _YAST)
    for element in root.iter(etree.Element):
        kind = element.get(f"{{{_CONFIG}}}type") or element.get("t") or element.get("type")
        if kind is None:
            parent = element.getparent()
            name = etree.QName(element).localname
            if parent is root and name in _LISTS and len(element):
                said = f'want config:type="list" for {name}'
                yield warning(said, _path(element))
            continue
        text = element.text or ""
        if kind not in _TYPES and kind == element.get(f"{{{_CONFIG}}}type"):
            yield warning(f"unknown type {shown(kind)}{hint(kind, _TYPES)}", _path(element))
        elif kind == "boolean" and not _BOOLEAN.fullmatch(text):
            yield problem(f"want true or false, not {shown(text.strip())}", _path(element))
        elif kind == "integer" and not _INTEGER.fullmatch(text):
            yield problem(f"want a whole number, not {shown(text.strip())}", _path(element))


def _unattend(root: etree._Element) -> Iterator[Finding]:
    yield from _namespace(root, _UNATTEND)
    for settings in root.iterchildren(etree.Element):
        if etree.QName(settings).localname != "settings":
            continue
        pass_ = settings.get("pass")
        if pass_ not in _PASSES:
            said = "the pass is missing" if pass_ is None else f"{shown(pass_)} is no pass"
            meant = hint(pass_, _PASSES) if pass_ is not None else ""
            yield problem(f"{said}: want {either(_PASSES)}{meant}", _path(settings))
        for component in settings.iterchildren(etree.Element):
            if etree.QName(component).localname == "component":
                yield from _component(component)


def _component(component: etree._Element) -> Iterator[Finding]:
    at = _path(component)
    missing = [each for each in _ATTRIBUTES if not component.get(each)]
    if missing:
        yield warning(f"{', '.join(missing)} missing: Windows passes the component over", at)
    architecture = component.get("processorArchitecture")
    if architecture and architecture not in _ARCHITECTURES:
        meant = "amd64" if "64" in architecture else "x86"
        yield warning(f"unknown architecture {shown(architecture)}; did you mean {meant}?", at)


def _path(element: etree._Element) -> str:
    """:returns: where it is, as ``/profile/users/user[2]/uid``; names stand for entries."""
    steps: list[str] = []
    at: etree._Element | None = element
    while at is not None and len(steps) < _DEPTH:
        steps.append(_step(at))
        at = at.getparent()
    return "/" + "/".join(reversed(steps))


def _step(element: etree._Element) -> str:
    name = etree.QName(element).localname
    for key in ("name", "pass"):
        if element.get(key):
            return f"{name}[{key}={element.get(key)}]"
    before = sum(1 for each in element.itersiblings(element.tag, preceding=True))
    after = next(element.itersiblings(element.tag), None)
    return f"{name}[{before + 1}]" if before or after is not None else name
