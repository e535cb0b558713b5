"""Stand-ins for strings with placeholders, while a library writes the document they are in."""

import re
from collections.abc import Callable, Iterable

from ..template import Template


class Marks:
    """
    Words of letters and digits that no layer holds: every serialiser writes them as they are,
    and what stands for a string is found again in what was written.
    """

    def __init__(self, layers: Iterable[bytes]) -> None:
        layers = list(layers)
        number = 0
        while any(b"filled%dx" % number in each for each in layers):
            number += 1
        self._word = f"filled{number}x"
        self._templates: list[Template] = []

    def stand_in(self, template: Template, encode: Callable[[str], str]) -> str:
        """
        :param encode: how the format writes a text where this one stands, character by
            character: what it makes of two texts joined are its two texts joined.
        :returns: the word to write instead.
        """
        self._templates.append(template.encoded(encode))
        return f"{self._word}{len(self._templates) - 1}x"

    def template(self, written: str) -> Template:
        """:returns: what was written, with the templates where their words are."""
        parts: list[str | Template] = []
        at = 0
        for found in re.finditer(rf"{self._word}(\d+)x", written):
            parts += [written[at : found.start()], self._templates[int(found[1])]]
            at = found.end()
        return Template.joined([*parts, written[at:]])


def settled(template: Template) -> bytes | Template:
    """:returns: bytes, where all that had to be filled were braces that mean themselves."""
    texts = [part for part in template.parts if isinstance(part, str)]
    return template if len(texts) < len(template.parts) else "".join(texts).encode("utf-8")
