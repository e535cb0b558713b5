"""THE table of what the controllers file says of a machine: reading it and its page use it."""

import re
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Final

from attrs import frozen
from hyperlink import DecodedURL

from ..contract.pins import Pin
from ..contract.places import HOST
from ..values import MAC, Secret

#: Characters of any text, and parts of a command.
LONGEST, MOST = 2048, 64
#: Seconds that anything may take at the most.
LONGEST_SECONDS: Final = 3600
#: A host, and perhaps a port.
_PLACE: Final = re.compile(
    rf"(?:{HOST}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*)(?::[1-9][0-9]{{0,4}})?", re.ASCII
)
_INTERFACE: Final = re.compile(r"[^\s/:]{1,15}")


@frozen
class Field:
    """
    One key of a machine's table.

    :ivar parse: TOML to value; raises ValueError with what would be right. It shows nothing of
        what it was given, which may be a secret in the wrong place.
    :ivar help: one sentence for people.
    """

    name: str
    parse: Callable[[object], object]
    help: str
    required: bool = False


def text(value: object) -> str:
    """One line."""
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= LONGEST:
        raise ValueError("want a text of one line, in quotes")
    return value


def secret(value: object) -> Secret:
    return Secret(text(value))


def seconds(value: object) -> int:
    if type(value) is not int or not 1 <= value <= LONGEST_SECONDS:
        raise ValueError(f"want 1 to {LONGEST_SECONDS} seconds, as a number")
    return value


def flag(value: object) -> bool:
    if type(value) is not bool:
        raise ValueError("want true or false, without quotes")
    return value


def url(value: object) -> DecodedURL:
    """Of a BMC, without a path: that of the service root is ``base``."""
    try:
        made = DecodedURL.from_text(text(value))
    except ValueError:
        made = DecodedURL()
    plain = not (any(made.path) or made.query or made.fragment or any(made.userinfo))
    host = f"[{made.host}]" if ":" in made.host else made.host
    if made.scheme not in ("http", "https") or not _PLACE.fullmatch(host):
        raise ValueError("want https://HOST or https://HOST:PORT")
    if not plain or "@" in str(value):
        raise ValueError("want https://HOST or https://HOST:PORT alone; a path goes into base")
    return made.replace(path=())


def place(value: object) -> str:
    """Of a BMC by IPMI: whoever writes a user or a scheme there may write a password there."""
    found = text(value)
    if not _PLACE.fullmatch(found):
        raise ValueError("want HOST or HOST:PORT, an IPv6 address with a port in brackets")
    return found


def base(value: object) -> tuple[str, ...]:
    """A path, as its parts."""
    path = text(value)
    parts = tuple(each for each in path.split("/") if each)
    if not path.startswith("/") or not parts or any(each in (".", "..") for each in parts):
        raise ValueError("want the path of the service root, such as /redfish/v1")
    if any(sign in path for sign in "?#%"):
        raise ValueError("want a path without ?, # and %")
    return parts


def pin(value: object) -> Pin:
    """As curl spells it, or as we do."""
    try:
        found = text(value)
        if found.startswith("sha256//"):
            found = "sha256/" + found.removeprefix("sha256//")
        return Pin.parse(found)
    except ValueError:
        raise ValueError(
            "want 'sha256//' and 44 characters of base64: the SHA-256 of the BMC's public key,"
            " one of them"
        ) from None


def authority(value: object) -> Path:
    path = Path(text(value))
    if not path.is_absolute():
        raise ValueError("want the absolute path of a file of CA certificates in PEM")
    return path


def nobody(value: object) -> bool:
    """``verify``: there is one thing that it can say."""
    if value is not False:
        raise ValueError("want false; for verifying, say pinnedpubkey or cacert")
    return False


def cipher(value: object) -> int:
    """A cipher suite that has authentication (W248)."""
    if type(value) is not int or value not in (3, 17):
        raise ValueError("want 17 or 3, as a number")
    return value


def privilege(value: object) -> str:
    if value not in ("ADMINISTRATOR", "OPERATOR"):
        raise ValueError("want ADMINISTRATOR or OPERATOR")
    return str(value)


def argv(value: object) -> tuple[str, ...]:
    """A program and its arguments. No shell reads them."""
    if isinstance(value, str):
        raise ValueError(
            'want a list, the program and each argument a text of its own: ["program", "argument"];'
            " no shell reads it"
        )
    parts = value if isinstance(value, list) else [None]
    made = tuple(each for each in parts if isinstance(each, str) and "\0" not in each)
    if len(made) != len(parts) or len(made) > MOST:
        raise ValueError(f"want a list of up to {MOST} texts")
    if made and not made[0]:
        raise ValueError("want the program first, and not an empty text")
    return made


def mac(value: object) -> MAC:
    try:
        return MAC.parse(text(value))
    except ValueError:
        raise ValueError("want a MAC address, such as 52:54:00:12:34:56") from None


def broadcast(value: object) -> str:
    try:
        return str(IPv4Address(text(value)))
    except (AddressValueError, ValueError):
        raise ValueError("want an IPv4 address, such as 192.0.2.255") from None


def port(value: object) -> int:
    if type(value) is not int or not 1 <= value <= 65535:
        raise ValueError("want a port, 1 to 65535, as a number")
    return value


def interface(value: object) -> str:
    if not isinstance(value, str) or not _INTERFACE.fullmatch(value) or value in (".", ".."):
        raise ValueError("want the name of a network interface")
    return value


_USER: Final = Field("user", text, "Who asks the BMC.", required=True)
_PASS: Final = Field("pass", secret, "Their password.", required=True)
_TIMEOUT: Final = "Seconds that one operation may take"

#: By kind, in the order in which they are told.
KINDS: Final[Mapping[str, tuple[Field, ...]]] = {
    "redfish": (
        Field("url", url, "`https://HOST` or `https://HOST:PORT` of the BMC.", required=True),
        Field("base", base, "Path of its service root; `/redfish/v1` unless said."),
        _USER,
        _PASS,
        Field("pinnedpubkey", pin, "The BMC's own key: `sha256//…`, as curl spells it."),
        Field("cacert", authority, "Or: a file of CA certificates that vouch for it."),
        Field("verify", nobody, "Or `false`: whoever answers is believed, also by `http://`."),
        Field("system", text, "Id of the machine, where the BMC has several."),
        Field("legacy_tls", flag, "`true`: TLS 1.0, short keys and old ciphers will do."),
        Field("timeout", seconds, f"{_TIMEOUT}; 120 unless said."),
    ),
    "ipmi": (
        Field("address", place, "`HOST` or `HOST:PORT`.", required=True),
        _USER,
        _PASS,
        Field("cipher", cipher, "The one cipher suite to use, 17 or 3; unless said, 17, then 3."),
        Field("privilege", privilege, "`ADMINISTRATOR`, unless said, or `OPERATOR`."),
        Field("timeout", seconds, f"{_TIMEOUT}; 120 unless said."),
    ),
    "command": (
        Field("status", argv, "Prints `on` or `off`."),
        Field("on", argv, "Powers it on."),
        Field("off", argv, "Powers it off."),
        Field("pxe", argv, "Makes its next boot one from the network; `[]`: every one is."),
        Field("timeout", seconds, f"{_TIMEOUT}; 60 unless said."),
    ),
    "wol": (
        Field("mac", mac, "Of the interface that listens; unless said, the machine's id."),
        Field("broadcast", broadcast, "Where the packet goes; `255.255.255.255` unless said."),
        Field("port", port, "9 unless said."),
        Field("interface", interface, "That it leaves by; unless said, as it is routed."),
    ),
}
