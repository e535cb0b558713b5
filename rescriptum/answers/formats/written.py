"""A document written anew from its plain value, and what is left to fill in it."""

from collections.abc import Callable

from ..template import OPEN, Template
from . import plain
from .marks import Marks


def written(
    top: object, write: Callable[[object], str], escape: Callable[[str], str]
) -> bytes | Template:
    """
    :param write: a whole document of the format; a text of letters and digits is itself in it.
    :param escape: a text as it stands between the quotes that ``write`` puts around such a word.
    """
    text = write(top)
    if not any(OPEN in each for _, each in plain.texts(top)):
        return text.encode("utf-8")
    marks = Marks([text.encode("utf-8")])

    def stand_in(text: str) -> str:
        return marks.stand_in(Template.parse(text), escape) if OPEN in text else text

    return settled(marks.template(write(plain.replaced(top, stand_in))))


def settled(template: Template) -> bytes | Template:
    """:returns: bytes, where all that had to be filled were braces that mean themselves."""
    texts = [part for part in template.parts if isinstance(part, str)]
    return template if len(texts) < len(template.parts) else "".join(texts).encode("utf-8")
