"""What a driver writes to stderr, as lines of a log: few, short, and without its secrets."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

from ...values import Secret, printable

#: Characters of a line, and lines of one run.
LINE, LINES = 500, 50
_MASK: Final = "***"


class Mask:
    """Takes secrets out of texts, in each of the spellings that programs print them in."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        spelled = {each for secret in secrets for each in _spellings(secret.reveal())}
        # The longest first: one may be a part of another.
        self._spelled = sorted(spelled, key=lambda each: (-len(each), each))

    @property
    def longest(self) -> int:
        """Characters of the longest spelling."""
        return len(self._spelled[0]) if self._spelled else 0

    def __call__(self, text: str) -> str:
        for each in self._spelled:
            text = text.replace(each, _MASK)
        return text

    def within(self, value: object) -> object:
        """:returns: what JSON has, with every text and name in it masked."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, list):
            return [self.within(each) for each in value]
        if isinstance(value, dict):
            return {self(str(name)): self.within(each) for name, each in value.items()}
        return value


def _spellings(text: str) -> Iterator[str]:
    for part in {text, *text.splitlines()}:
        if part.strip():
            data = part.encode("utf-8", "surrogatepass")
            yield part
            yield json.dumps(part)[1:-1]
            yield repr(part)[1:-1]
            yield quote(data, safe="")
            yield quote_plus(data)
            yield b64encode(data).decode("ascii").rstrip("=")
            yield data.hex()


class Lines:
    """Bytes as they come, to lines that may be logged: bounded in length and number."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._kept = b""
        self._cut = False
        self._given = 0
        # Enough for a line, and for a secret that it is cut within: four bytes a character.
        self._most = 4 * (LINE + mask.longest)
        self.dropped = 0

    def feed(self, data: bytes) -> list[str]:
        """:returns: lines that are whole now."""
        *whole, rest = data.split(b"\n")
        lines = []
        for each in whole:
            self._keep(each)
            lines += self._line()
        self._keep(rest)
        return lines

    def end(self) -> list[str]:
        """:returns: what was left without a line's end."""
        return self._line() if self._kept else []

    def _keep(self, data: bytes) -> None:
        room = self._most - len(self._kept)
        self._cut |= len(data) > room
        self._kept += data[:room]

    def _line(self) -> list[str]:
        text, cut = self._kept.decode("utf-8", "replace").rstrip("\r"), self._cut
        self._kept, self._cut = b"", False
        if self._given >= LINES:
            self.dropped += 1
            return []
        self._given += 1
        if cut:  # perhaps within a secret, of which only the beginning would be left
            text = text[: max(0, len(text) - self._mask.longest)]
        masked = printable(self._mask(text))
        return [f"{masked[:LINE]}…" if cut or len(masked) > LINE else masked]
