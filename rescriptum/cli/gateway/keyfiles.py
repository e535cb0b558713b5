"""Files of keys, as an operator names them on the command line."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...values import Problem

if TYPE_CHECKING:
    from ...contract.keys import Key

#: Bytes of a file that is read here.
LONGEST = 1 << 20
#: Where a gateway's keys are, below its data directory.
DATA_DIR, KEYS = "/var/lib/rescriptum-gateway", "keys"


def content(name: str) -> bytes:
    """
    :param name: of a file; ``-``: standard input.
    :raises ConfigError: when it cannot be read, or is too long.
    """
    try:
        if name == "-":
            data = sys.stdin.buffer.read(LONGEST + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(LONGEST + 1)
    except OSError as e:
        raise ConfigError([Problem(name, f"cannot be read: {e.strerror}")]) from None
    if len(data) > LONGEST:
        raise ConfigError([Problem(name, f"longer than {LONGEST} bytes")])
    return data


def private(name: str) -> "Key":
    """
    :returns: the signing key in a file of our own.
    :raises ConfigError: when it is none, or others may read it.
    """
    from ...contract.keys import load
    from ...contract.refusals import Rejected
    from ...net.keyfiles import KeyFiles

    path = Path(name)
    data = KeyFiles(path.parent).read(path.name)
    if data is None:
        raise ConfigError([Problem(name, "there is no such file")])
    try:
        return load(data, "Ed25519")
    except Rejected as e:
        raise ConfigError([Problem(name, e.detail)]) from None


def public(name: str) -> "Key":
    """
    :param name: of a file with either half of a signing key, or with what ``keys`` told of one.
    :returns: its public half.
    :raises ConfigError: when it is none.
    """
    from ...contract.keys import public_key
    from ...contract.refusals import Rejected
    from ...contract.structure import parsed

    try:
        found = parsed(content(name))
    except Rejected as e:
        raise ConfigError([Problem(name, f"no public key: {e.detail or 'not JSON'}")]) from None
    if isinstance(found, dict) and "d" in found:
        return private(name)
    if isinstance(found, dict) and isinstance(found.get("jwk"), dict):
        found = found["jwk"]
    try:
        return public_key(found, "Ed25519")
    except Rejected as e:
        raise ConfigError([Problem(name, f"no public key: {e.detail}")]) from None


def keep(name: str, data: bytes) -> None:
    """
    Write a new file for its owner alone.

    :raises ConfigError: when it is there already: nobody wants a key overwritten.
    """
    from ...net.keyfiles import KeyFiles

    path = Path(name)
    if path.exists() or path.is_symlink():
        raise ConfigError([Problem(name, "is there already, and is left as it is")])
    KeyFiles(path.parent).write(path.name, data)


def worker(data_dir: str) -> "Key":
    """:raises ConfigError: when there is no gateway's worker key."""
    return private(str(Path(data_dir) / KEYS / "worker.jwk"))
