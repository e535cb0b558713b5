"""
THE table of variables: parsing, ``rescriptum config``, help and the reference page read it.

A value is text from the environment, a TOML file or an environment file; its row knows what
would be right.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

from attrs import frozen

from .boot.allow import AllowList
from .boot.scripts import ENDS, Unclaimed
from .values import Listen, Secret, StoreKind

PREFIX = "RESCRIPTUM_"
MAX_BLKSIZE = 1468  # 1500 less IP, UDP and TFTP headers (W113)
OFF = ("off", "none", "disabled")
#: Characters of a token that nobody guesses.
LONG_ENOUGH = 16


@frozen
class Setting:
    """
    One variable.

    :ivar variable: its name in the environment and in an environment file.
    :ivar path: its place in the TOML file, dotted.
    :ivar parse: text to value; raises ValueError with a sentence that says what would be right.
    :ivar default: text, parsed like any other; None: unset is a value of its own.
    :ivar help: one sentence for people.
    :ivar derived: how an unset value is found at start, for people; empty: it is not.
    :ivar secret: its value is a ``Secret``: nobody is shown it.
    """

    variable: str
    path: str
    parse: Callable[[str], object]
    default: str | None
    help: str
    derived: str = ""
    secret: bool = False


def _number(low: int, high: int, unit: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
            raise ValueError(f"want {low} to {high} {unit}, not {text!r}")
        return int(text)

    return parse


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"want one of {', '.join(words)}, not {text!r}")
        return text.lower()

    return parse


def _path(text: str) -> Path:
    return Path(_text(text))


def _unclaimed(text: str) -> Unclaimed:
    return Unclaimed(_one_of(*(each.value for each in Unclaimed))(text))


def _store(text: str) -> StoreKind:
    return StoreKind(_one_of(*(each.value for each in StoreKind))(text))


def _tftp(text: str) -> Listen | None:
    return None if text.lower() in OFF else Listen.parse(text)


def _ports(text: str) -> tuple[int, int]:
    first, hyphen, last = text.partition("-")
    port = _number(1024, 65535, "as a port")
    if not hyphen:
        raise ValueError(f"want FIRST-LAST, not {text!r}")
    ports = port(first.strip()), port(last.strip())
    if ports[0] > ports[1]:
        raise ValueError(f"the first port is above the last: {text!r}")
    return ports


def _token(text: str) -> Secret:
    """What a header can carry; the problem does not show it."""
    if not (text and text.isascii() and text.isprintable() and " " not in text):
        raise ValueError("want printable ASCII without blanks")
    return Secret(text)


_NAME = re.compile(r"[0-9A-Za-z-]{1,63}(\.[0-9A-Za-z-]{1,63})*\.?")


def _host(text: str) -> str:
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


def _text(text: str) -> str:
    if any(ord(letter) < 32 for letter in text):
        raise ValueError("want one line of text")
    return text


def _title(text: str) -> str:
    """One line that iPXE reads as one command, and shows."""
    if not text.isascii() or not text.isprintable():
        raise ValueError(f"want printable ASCII, which is all that iPXE shows, not {text!r}")
    if ends := ENDS.intersection(text.split()):
        raise ValueError(f"iPXE ends a command at {' and '.join(sorted(ends))}: {text!r}")
    return text


SETTINGS = (
    Setting(
        "RESCRIPTUM_CONFIG",
        "",
        _path,
        None,
        "A TOML file with settings; named here or by --config, never searched for.",
    ),
    Setting(
        "RESCRIPTUM_ENV_FILE",
        "",
        _path,
        None,
        "A file of KEY=value lines that the TOML file and the environment override.",
    ),
    Setting(
        "RESCRIPTUM_ANSWERS_DIR",
        "answers.dir",
        _path,
        "/srv/answers",
        "The answer set: a directory a machine.",
    ),
    Setting(
        "RESCRIPTUM_STORE",
        "answers.store",
        _store,
        StoreKind.FILES.value,
        "What keeps the answer set: files, or sqlite for a database.",
    ),
    Setting(
        "RESCRIPTUM_DB_PATH",
        "answers.database",
        _path,
        "/srv/answers.db",
        "The database, where RESCRIPTUM_STORE is sqlite.",
    ),
    Setting(
        "RESCRIPTUM_LISTEN_ADDR",
        "answers.listen",
        Listen.parse,
        "0.0.0.0:8000",
        "Where the answer listener binds; [::]:8000 takes IPv4 and IPv6.",
    ),
    Setting(
        "RESCRIPTUM_MAX_CONNECTIONS",
        "answers.connections",
        _number(1, 65536, "connections"),
        "2048",
        "How many connections the answer listener holds at once.",
    ),
    Setting(
        "RESCRIPTUM_TIMEOUT_SECS",
        "answers.seconds",
        _number(1, 3600, "seconds"),
        "10",
        "How long one exchange on the answer listener may take, from its first byte.",
    ),
    Setting(
        "RESCRIPTUM_ANSWER_TOKEN",
        "answers.token",
        _token,
        None,
        "What installers have to present as a bearer token; unset, anybody is answered.",
        secret=True,
    ),
    Setting(
        "RESCRIPTUM_INSTALLED_TOKEN",
        "answers.installed",
        _token,
        None,
        "What disarms a machine by POST /installed; unset, there is no such request.",
        secret=True,
    ),
    Setting(
        "RESCRIPTUM_CAPTURE_DIR",
        "answers.capture",
        _path,
        None,
        "Where requests to the answer listener are kept for replaying; unset, nowhere.",
    ),
    Setting(
        "RESCRIPTUM_ADMIN_ADDR",
        "admin.listen",
        Listen.parse,
        None,
        "Where the admin listener binds; unset, there is none.",
    ),
    Setting(
        "RESCRIPTUM_ADMIN_TOKEN",
        "admin.token",
        _token,
        None,
        f"The bearer token of the admin listener, {LONG_ENOUGH} characters or more.",
        secret=True,
    ),
    Setting(
        "RESCRIPTUM_MEDIA_DIR",
        "media.dir",
        _path,
        None,
        "Installer images and trees; unset, none are served.",
    ),
    Setting(
        "RESCRIPTUM_MEDIA_ADDR",
        "media.listen",
        Listen.parse,
        "0.0.0.0:8001",
        "Where the media listener binds; loaders expect port 8001.",
    ),
    Setting(
        "RESCRIPTUM_MEDIA_TIMEOUT_SECS",
        "media.seconds",
        _number(1, 86400, "seconds"),
        "600",
        "How long a transfer on the media listener may stand still before it is dropped.",
    ),
    Setting(
        "RESCRIPTUM_MEDIA_MAX_CONNECTIONS",
        "media.connections",
        _number(1, 65536, "connections"),
        "2048",
        "How many files above 256 KiB the media listener sends at once.",
    ),
    Setting(
        "RESCRIPTUM_PUBLIC_HOST",
        "host",
        _host,
        None,
        "The address of this server that scripts and DHCP snippets name.",
        "the address that the default route leaves from",
    ),
    Setting(
        "RESCRIPTUM_BOOT_DIR",
        "boot.dir",
        _path,
        None,
        "The loaders; unset, there is no TFTP listener and nothing under /boot/.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_ALLOW",
        "boot.allow",
        AllowList.parse,
        None,
        "Networks whose machines TFTP and the media listener answer; unset, all of them.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_TIMEOUT_SECS",
        "boot.seconds",
        _number(1, 3600, "seconds"),
        "15",
        "How long the menu waits before it boots the local disk.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_UNCLAIMED",
        "boot.unclaimed",
        _unclaimed,
        "menu",
        "Where a machine goes that no document claims: menu, or local for its own disk.",
    ),
    Setting(
        "RESCRIPTUM_BOOT_TITLE",
        "boot.title",
        _title,
        None,
        "The menu's title; iPXE's settings in it expand.",
        "rescriptum, its version and ${next-server}",
    ),
    Setting(
        "RESCRIPTUM_BOOT_LOGO",
        "boot.logo",
        _path,
        None,
        "A PNG that the menu shows behind its text on machines with a screen.",
    ),
    Setting(
        "RESCRIPTUM_TFTP_ADDR",
        "tftp.listen",
        _tftp,
        "0.0.0.0:69",
        "Where TFTP binds, or off where another server hands the loaders over.",
    ),
    Setting(
        "RESCRIPTUM_TFTP_BLKSIZE",
        "tftp.blksize",
        _number(512, MAX_BLKSIZE, "bytes"),
        str(MAX_BLKSIZE),
        "The largest TFTP block; 1400 where a tunnel or VLAN tag lowers the MTU.",
    ),
    Setting(
        "RESCRIPTUM_TFTP_PORT_RANGE",
        "tftp.ports",
        _ports,
        None,
        "FIRST-LAST: the UDP ports that TFTP data leaves from, for a firewall; unset, any.",
    ),
    Setting(
        "RESCRIPTUM_TLS_CERT",
        "tls.cert",
        _path,
        None,
        "A PEM certificate chain: the answer, media and admin listeners then speak TLS.",
    ),
    Setting(
        "RESCRIPTUM_TLS_KEY",
        "tls.key",
        _path,
        None,
        "The certificate's private key, PEM.",
    ),
    Setting(
        "RESCRIPTUM_USER",
        "user",
        _text,
        None,
        "The user to become once the ports are bound.",
    ),
    Setting(
        "RESCRIPTUM_GROUP",
        "group",
        _text,
        None,
        "The group to become once the ports are bound.",
        "the user's own group",
    ),
    Setting(
        "RESCRIPTUM_LOG",
        "log.show",
        _one_of("all", "problems", "off"),
        "all",
        "Which lines are written: all, problems, or off.",
    ),
    Setting(
        "RESCRIPTUM_LOG_FILE",
        "log.file",
        _text,
        "stderr",
        "Where lines are written: stderr, stdout, or a file that is appended to.",
    ),
)

BY_VARIABLE = {each.variable: each for each in SETTINGS}
BY_PATH = {each.path: each for each in SETTINGS if each.path}
