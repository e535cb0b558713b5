"""One tree of XML elements laid over another: which belong together, and what becomes of them."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy

from lxml import etree

#: Attributes that tell elements of one name apart, in any case; the first that is there counts.
DISCRIMINATORS = ("name", "id", "key", "alias", "pass")
#: How AutoYaST says what an element holds, the long way and the short one.
_CONFIG = "http://www.suse.com/1.0/configns"
TYPES = (f"{{{_CONFIG}}}type", "t")

_STEP = "  "
#: Among how many of one name and discriminator the one is looked for that agrees in the rest.
_ALIKE = 16

Discriminator = tuple[str, str] | None


def children(element: etree._Element) -> list[etree._Element]:
    """:returns: the elements in it, comments and instructions left out."""
    return [each for each in element if isinstance(each.tag, str)]


def by_name(elements: Sequence[etree._Element]) -> dict[str, list[etree._Element]]:
    """:returns: them in lists of one name each."""
    named: dict[str, list[etree._Element]] = {}
    for each in elements:
        named.setdefault(str(each.tag), []).append(each)
    return named


def words(element: etree._Element) -> str:
    """:returns: the text directly in it, and nothing when that is blank."""
    texts = [element.text or ""] if isinstance(element.tag, str) else []
    return "".join([*texts, *(each.tail or "" for each in element)]).strip()


def discriminator(element: etree._Element) -> Discriminator:
    """:returns: what tells it from others of its name, an attribute and its value."""
    there = {str(name).lower(): str(value) for name, value in element.attrib.items()}
    return next(((name, there[name]) for name in DISCRIMINATORS if name in there), None)


def is_list(element: etree._Element) -> bool:
    """:returns: whether it says of itself that it is a list."""
    return any(element.get(each) == "list" for each in TYPES)


def lists(*named: Mapping[str, Sequence[etree._Element]]) -> set[str]:
    """:returns: names of which there are several somewhere, and nothing to tell them by."""
    return {
        name
        for each in named
        for name, siblings in each.items()
        if len(siblings) > 1 and not any(map(discriminator, siblings))
    }


def lay(below: etree._Element, above: etree._Element) -> None:
    """
    Change ``below``, which keeps its comments, and its layout wherever nothing comes into it.

    Attributes are merged. Lists are replaced, and so is text by text, and either of text and
    elements by the other. Elements are paired by their name and discriminator, and what has no
    pair is appended.

    :param above: of the same name; it is not changed.
    """
    pairs = [(below, above)]
    while pairs:
        below, above = pairs.pop()
        _attributes(below, above)
        inner = children(above)
        replaced = inner and words(below) and not children(below)
        if is_list(below) or is_list(above) or words(above) or replaced:
            _replace_content(below, above)
        else:
            pairs += _children(below, inner)


def remove(element: etree._Element) -> None:
    """Take an element out, and the line that it stood on; text behind it stays."""
    parent, before = element.getparent(), element.getprevious()
    assert parent is not None
    tail, last = element.tail or "", element.getnext() is None
    space = (parent.text if before is None else before.tail) or ""
    if tail.strip():
        space += tail
    elif last and not space.strip():
        space = tail
    parent.remove(element)
    if before is None:
        parent.text = space
    else:
        before.tail = space


def _attributes(below: etree._Element, above: etree._Element) -> None:
    for name, value in above.attrib.items():
        if name in TYPES:  # one of them, or the two would say different things
            for each in TYPES:
                if each != name and each in below.attrib:
                    del below.attrib[each]
        _declare(below, above, str(name))
        below.set(name, value)


def _declare(below: etree._Element, above: etree._Element, name: str) -> None:
    """The namespace of an attribute, under the prefix it had: lxml would call it ns0."""
    space = etree.QName(name).namespace
    if space is None or space in below.nsmap.values():
        return
    prefix = next((key for key, value in above.nsmap.items() if value == space and key), None)
    if prefix is not None:
        root = below.getroottree().getroot()
        kept = {key for each in root.iter() for key in each.nsmap if key is not None}
        etree.cleanup_namespaces(root, {prefix: space}, [*kept, prefix])


def _children(
    below: etree._Element, inner: Sequence[etree._Element]
) -> Iterator[tuple[etree._Element, etree._Element]]:
    """:returns: those that are to be merged; the others are put in place."""
    there, comes = by_name(children(below)), by_name(inner)
    replaced = lists(there, comes)
    unpaired: dict[tuple[str, Discriminator], list[etree._Element]] = {}
    for each in children(below):
        unpaired.setdefault((str(each.tag), discriminator(each)), []).append(each)
    mixed = bool(words(below))
    for each in inner:
        tag = str(each.tag)
        alike = unpaired.get((tag, discriminator(each)), [])
        if tag in replaced:
            if tag in comes:  # all of them, where the first one is met
                _replace_list(below, there.get(tag, []), comes.pop(tag), mixed)
        elif alike:
            pair = next((one for one in alike[:_ALIKE] if _agree(one, each)), alike[0])
            alike.remove(pair)
            yield pair, each
        else:
            _append(below, _copy(each), mixed)


def _agree(one: etree._Element, other: etree._Element) -> bool:
    """Windows has a component of one name for each processor architecture."""
    return all(one.get(name, value) == value for name, value in other.attrib.items())


def _copy(element: etree._Element) -> etree._Element:
    copy = deepcopy(element)
    copy.tail = None
    return copy


def _replace_content(below: etree._Element, above: etree._Element) -> None:
    for each in list(below):
        below.remove(each)
    below.text = above.text
    below.extend([deepcopy(each) for each in above])
    _indent(below, _indentation(below))


def _replace_list(
    below: etree._Element,
    old: Sequence[etree._Element],
    new: Sequence[etree._Element],
    mixed: bool,
) -> None:
    """The new ones stand where the old ones stood."""
    last = None
    for at, each in enumerate(map(_copy, new)):
        if at < len(old):
            each.tail = old[at].tail
            space = _indentation(old[at])
            below.replace(old[at], each)
            _indent(each, space)
        elif last is None:
            _append(below, each, mixed)
            continue
        else:
            space = _indentation(last)
            each.tail = last.tail
            last.addnext(each)
            last.tail = None if mixed else "\n" + space
            _indent(each, space)
        last = each
    for each in old[len(new) :]:
        remove(each)


def _append(below: etree._Element, new: etree._Element, mixed: bool) -> None:
    """:param mixed: whether there is text between the children: blanks would be text too."""
    if not mixed:
        first, before = next(iter(below), None), next(iter(reversed(below)), None)
        inner = _indentation(below) + _STEP if first is None else _indentation(first)
        end = (below.text if before is None else before.tail) or ""
        new.tail = end if "\n" in end else "\n" + _indentation(below)
        if before is None:
            below.text = "\n" + inner
        else:
            before.tail = "\n" + inner
        _indent(new, inner)
    below.append(new)


def _indentation(element: etree._Element) -> str:
    """:returns: the blanks before an element; where its line has other things, two a level."""
    parent, steps = element.getparent(), 0
    while parent is not None:
        before = element.getprevious()
        space = (parent.text if before is None else before.tail) or ""
        _, end, space = space.rpartition("\n")
        if end and not space.strip():
            return space + _STEP * steps
        element, parent, steps = parent, parent.getparent(), steps + 1
    return _STEP * steps


def _indent(element: etree._Element, space: str) -> None:
    """Lay out what is in an element that stands behind ``space``; where there is text, it stays."""
    todo = [(element, space)]
    while todo:
        element, space = todo.pop()
        last = next(iter(reversed(element)), None)
        if last is None or words(element):
            continue
        element.text = f"\n{space}{_STEP}"
        for each in element:
            each.tail = element.text
            if isinstance(each.tag, str):
                todo.append((each, space + _STEP))
        last.tail = f"\n{space}"
