"""
From the text of a setting to its value: each raises ValueError with a sentence that says what
would be right.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

from .boot.scripts import ENDS, Unclaimed
from .values import Listen, Secret, StoreKind

OFF = ("off", "none", "disabled")


def number(low: int, high: int, unit: str) -> Callable[[str], int]:
    """:param unit: of ``low`` and ``high``, which are both right, for people."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
            raise ValueError(f"want {low} to {high} {unit}, not {text!r}")
        return int(text)

    return parse


def one_of(*words: str) -> Callable[[str], str]:
    """Any case is right."""

    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"want one of {', '.join(words)}, not {text!r}")
        return text.lower()

    return parse


def path(text: str) -> Path:
    """Whether there is anything is looked at when the settings are checked together."""
    return Path(line(text))


def unclaimed(text: str) -> Unclaimed:
    """What a machine gets that nothing claims."""
    return Unclaimed(one_of(*(each.value for each in Unclaimed))(text))


def store(text: str) -> StoreKind:
    """What keeps the answer set."""
    return StoreKind(one_of(*(each.value for each in StoreKind))(text))


def tftp(text: str) -> Listen | None:
    """Where to bind, or nowhere."""
    return None if text.lower() in OFF else Listen.parse(text)


def ports(text: str) -> tuple[int, int]:
    """The first and the last, both included."""
    first, hyphen, last = text.partition("-")
    port = number(1024, 65535, "as a port")
    if not hyphen:
        raise ValueError(f"want FIRST-LAST, not {text!r}")
    ports = port(first.strip()), port(last.strip())
    if ports[0] > ports[1]:
        raise ValueError(f"the first port is above the last: {text!r}")
    return ports


def token(text: str) -> Secret:
    """What a header can carry; the problem does not show it."""
    if not (text and text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("want printable ASCII without blanks")
    return Secret(text)


_NAME = re.compile(r"[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63})*\.?")


def host(text: str) -> str:
    """A host alone: whatever generated scripts put before ``:8001``."""
    if "://" in text:
        raise ValueError(f"a host without a scheme, not {text!r}")
    if "/" in text:
        raise ValueError(f"a host without a path, not {text!r}")
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        address = ip_address(bare)
    except ValueError:
        if ":" in bare:
            raise ValueError(f"a host without a port, not {text!r}") from None
        if not _NAME.fullmatch(bare):
            raise ValueError(f"an address or a host name, not {text!r}") from None
        return bare
    if address.is_unspecified or address.is_multicast or "%" in bare:
        raise ValueError(f"an address that machines can be sent to, not {text!r}")
    return str(address)


def line(text: str) -> str:
    """Any text without controls."""
    if any(ord(letter) < 32 for letter in text):
        raise ValueError("want one line of text")
    return text


def title(text: str) -> str:
    """One line that iPXE reads as one command, and shows."""
    if not text.isascii() or not text.isprintable():
        raise ValueError(f"want printable ASCII, which is all that iPXE shows, not {text!r}")
    if ends := ENDS.intersection(text.split()):
        raise ValueError(f"iPXE ends a command at {' and '.join(sorted(ends))}: {text!r}")
    return text
