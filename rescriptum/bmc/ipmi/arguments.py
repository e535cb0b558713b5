"""How ipmitool is called: what it is told, and never a password among it."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Self

from attrs import field, frozen

from ...contract.bmc import BmcRefusal
from ...values import Secret
from ..driver import Credential

#: Cipher suites in the order in which they are tried: SHA-256, then SHA-1. Suite 0 has no
#: authentication at all, and is never asked for (W248).
CIPHERS: Final = (17, 3)
#: Bytes of a password and a user name of IPMI 2.0 (W248).
LONGEST_PASSWORD, LONGEST_USERNAME = 20, 16
PORT: Final = 623
#: Where ipmitool reads a password (``-E``). An environment is its owner's alone to read; argument
#: lists are everybody's.
VARIABLE: Final = "IPMI_PASSWORD"
#: As whom a session is opened; the first is usual.
PRIVILEGES: Final = ("ADMINISTRATOR", "OPERATOR")

_ADDRESS: Final = re.compile(
    r"(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
_BARE_IPV6: Final = re.compile(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", re.ASCII)
#: What ``ipmitool exec`` reads as something else: comments, quotes and a blank of its own.
_READ_OTHERWISE: Final = frozenset("#\"'~")


@frozen
class Target:
    """
    Where a BMC is, and how it is asked.

    :ivar ciphers: that may be used. :ivar privilege: of sessions.
    """

    host: str
    port: int = PORT
    ciphers: tuple[int, ...] = CIPHERS
    privilege: str = PRIVILEGES[0]

    @classmethod
    def parse(cls, address: str, options: Mapping[str, object]) -> Self:
        """
        :param options: ``cipher_suites`` and ``privilege``.
        :raises BmcRefusal: ``invalid-config``, naming the one that is wrong.
        """
        unknown = sorted(options.keys() - {"cipher_suites", "privilege"})
        if unknown:
            raise _wrong(f"options: {unknown[0][:40]!r}; want cipher_suites or privilege")
        ciphers = options.get("cipher_suites", list(CIPHERS))
        if not isinstance(ciphers, list) or not ciphers or not set(ciphers) <= set(CIPHERS):
            raise _wrong(f"options: cipher_suites: want a list of {', '.join(map(str, CIPHERS))}")
        privilege = options.get("privilege", PRIVILEGES[0])
        if privilege not in PRIVILEGES:
            raise _wrong(f"options: privilege: want {' or '.join(PRIVILEGES)}")
        if _BARE_IPV6.fullmatch(address):
            address = f"[{address}]"
        found = _ADDRESS.fullmatch(address)
        port = int(found["port"] or PORT) if found else 0
        if found is None or not 0 < port < 65536:
            raise _wrong("address: want HOST or HOST:PORT, an IPv6 address in brackets")
        return cls(found["host"].strip("[]"), port, tuple(ciphers), str(privilege))


@frozen
class Call:
    """
    One run of ipmitool.

    :ivar args: after its name. :ivar environ: beside PATH. :ivar stdin: commands, where they have
        a secret.
    """

    args: tuple[str, ...]
    environ: Mapping[str, str] = field(repr=False)
    stdin: bytes = field(default=b"", repr=False)


def call(
    target: Target,
    credential: Credential,
    cipher: int,
    words: Sequence[str],
    *,
    verbose: bool = True,
    stdin: bytes = b"",
) -> Call:
    """
    :param words: the command.
    :param verbose: without it, a wrong password and no BMC at all are told in the same words.
    """
    args = (
        *(("-v",) if verbose else ()),
        *("-I", "lanplus", "-H", target.host, "-p", str(target.port)),
        *("-U", credential.username, "-E", "-C", str(cipher), "-L", target.privilege),
        *("-N", "2", "-R", "3"),
        *words,
    )
    return Call(args, {VARIABLE: credential.password.reveal()}, stdin)


def checked(credential: Credential | None) -> Credential:
    """
    :returns: what IPMI can ask with.
    :raises BmcRefusal: ``invalid-config``.
    """
    if credential is None:
        raise _wrong("IPMI needs a credential")
    name, password = credential.username, credential.password.reveal()
    if len(name.encode("utf-8", "replace")) > LONGEST_USERNAME:
        raise _wrong(f"the user name is longer than the {LONGEST_USERNAME} bytes of IPMI")
    if not 0 < len(password.encode("utf-8", "replace")) <= LONGEST_PASSWORD:
        raise _wrong(f"the password is not 1 to {LONGEST_PASSWORD} bytes, as IPMI has them (W248)")
    if not name.isprintable() or not password.isprintable():
        raise _wrong("user name and password: want printable characters")
    return credential


def new_password(user: int, password: Secret) -> bytes:
    """
    :param password: which :func:`checked` has let pass.
    :returns: the command that sets it, as ``ipmitool exec`` reads it from stdin.
    :raises BmcRefusal: ``invalid-config`` for one that it would read as something else.
    """
    text = password.reveal()
    if not text.isascii() or " " in text or not _READ_OTHERWISE.isdisjoint(text):
        signs = " ".join(sorted(_READ_OTHERWISE))
        raise _wrong(f"the new password: ipmitool takes no blanks, nor {signs}, nor beyond ASCII")
    size = 16 if len(text) <= 16 else LONGEST_PASSWORD
    return f"user set password {user} {text} {size}\n".encode("ascii")


def _wrong(detail: str) -> BmcRefusal:
    return BmcRefusal("invalid-config", detail)
