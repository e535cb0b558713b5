"""What an iPXE script makes a machine fetch, read off the script without running it."""

import re
from collections.abc import Iterator

from attrs import frozen

from ..values import MAC
from .scripts import ENDS

#: Of one script; a menu has two for every image.
MAX_FETCHES = 256

_SETTING = re.compile(r"\$\{([^}]{0,64})\}")
_URL = re.compile(r"https?://[^\s;,\"'|]+")


@frozen
class Fetch:
    """
    One URL.

    :ivar kind: ``kernel``, ``initrd`` or ``answer``, what the installer is told to ask for.
    :ivar url: with the settings filled in that are known before any machine runs.
    :ivar open: whether settings are left in it that only the machine knows.
    """

    kind: str
    url: str
    open: bool


def fetches(script: str, next_server: str, mac: MAC | None) -> tuple[Fetch, ...]:
    """
    :param next_server: what DHCP would have set.
    :param mac: the machine that is followed, or None.
    :returns: each URL once, in the order of the script; at most :data:`MAX_FETCHES`.
    """
    known = {"next-server": next_server}
    if mac is not None:
        for interface in ("netX", "net0"):
            known[f"{interface}/mac"] = known[f"{interface}/mac:hex"] = str(mac)
            known[f"{interface}/mac:hexhyp"] = mac.joined("-")
            known[f"{interface}/mac:hexraw"] = mac.bare
    found: dict[str, Fetch] = {}
    for kind, text in _named(script):
        if len(found) == MAX_FETCHES:
            break
        url = _SETTING.sub(lambda match: known.get(match[1], match[0]), text)
        found.setdefault(url, Fetch(kind, url, "${" in url))
    return tuple(found.values())


def _named(script: str) -> Iterator[tuple[str, str]]:
    for line in script.splitlines():
        words = line.split()
        if "kernel" not in words and "initrd" not in words:
            continue
        # The command may follow a condition: iseq … && kernel URL …
        at = next(at for at, word in enumerate(words) if word in ("kernel", "initrd"))
        command, arguments = words[at], words[at + 1 :]
        end = next((at for at, word in enumerate(arguments) if word in ENDS), len(arguments))
        target = True
        skip = False
        for word in arguments[:end]:
            if skip:
                skip = False
            elif word.startswith("--"):
                skip = word in ("--name", "--timeout", "-n", "-t")
            elif target:
                target = False
                if word.startswith(("http://", "https://")):
                    yield command, word
            elif command == "kernel":
                for match in _URL.finditer(word):
                    yield "answer", match[0]
