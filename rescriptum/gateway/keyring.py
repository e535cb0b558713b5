"""
THE table of a gateway's keys: what each is for, how it is made, how it is read.

Made once, at the first start; a key that is lost later is not made anew in silence, since agents
have pinned it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

from attrs import field, frozen

from ..contract.keys import Curve, Key, dumped, generate, load, pin
from ..contract.refusals import Rejected
from ..errors import ConfigError
from ..values import Problem
from .authority import LEAF_DAYS, Authority, Served
from .vault import Vault


class Files(Protocol):
    """
    Where keys are: read by nobody else, written whole or not at all.

    :ivar path: for people.
    """

    path: Path

    def read(self, name: str) -> bytes | None:
        """:returns: None: there is none. :raises ConfigError: when it must not be used."""

    def write(self, name: str, data: bytes) -> None:
        """:raises ConfigError: when it cannot be written."""


@frozen
class Row:
    """
    One file.

    :ivar purpose: for people, one clause.
    :ivar made: what stands in a new one, at a time.
    :ivar check: raises ValueError or Rejected, saying what is wrong and no secret.
    """

    file: str
    purpose: str
    made: Callable[[datetime], bytes]
    check: Callable[[bytes], object]


def _jwk(file: str, purpose: str, curve: Curve) -> Row:
    return Row(file, purpose, lambda _: dumped(generate(curve)), lambda text: load(text, curve))


_AUTHORITY = Row(
    "serving-ca.pem",
    "signs the certificates that the gateway shows, and agents pin it",
    lambda now: Authority.make(now).pem(),
    Authority.load,
)
_JOIN_SIGNING = _jwk("join-signing.jwk", "signs the answer to a join, and agents pin it", "Ed25519")
_JOIN_ENCRYPTION = _jwk("join-encryption.jwk", "opens join tokens, and agents pin it", "X25519")
_WORKER = _jwk("worker.jwk", "signs commands, once a command root has certified it", "Ed25519")
_SECRETS = Row(
    "secrets.key",
    "seals the secrets in the database",
    lambda _: Vault.make().dumped(),
    Vault.load,
)

#: In the order in which they are made.
ROWS: Final = (_AUTHORITY, _JOIN_SIGNING, _JOIN_ENCRYPTION, _WORKER, _SECRETS)
#: What a listener shows: key, leaf and CA; made anew whenever it has to be.
SERVED: Final = "server.pem"
#: For operators to copy; written last: while it is missing, the first start is not over.
PINS: Final = "pins.toml"


@frozen
class Keyring:
    """Every key that a gateway has the private half of."""

    authority: Authority
    join_signing: Key = field(repr=False)
    join_encryption: Key = field(repr=False)
    worker: Key = field(repr=False)
    vault: Vault

    @classmethod
    def open(cls, files: Files, now: datetime) -> "Keyring":
        """
        Read every key; make them all when this is the first start, and renew the CA's certificate.

        :raises ConfigError: for each key that is missing, damaged or open to others.
        """
        first = files.read(PINS) is None
        problems: list[Problem] = []
        making = now if first else None
        held = {row.file: _held(row, files, making, problems) for row in ROWS}
        if problems:
            raise ConfigError(problems)
        authority = Authority.load(held[_AUTHORITY.file])
        renewed = authority.renewed(now)
        if renewed is not authority:
            files.write(_AUTHORITY.file, renewed.pem())
        made = cls(
            renewed,
            load(held[_JOIN_SIGNING.file], "Ed25519"),
            load(held[_JOIN_ENCRYPTION.file], "X25519"),
            load(held[_WORKER.file], "Ed25519"),
            Vault.load(held[_SECRETS.file]),
        )
        told = made.pins_toml().encode("ascii")
        if files.read(PINS) != told:
            files.write(PINS, told)
        return made

    def pins(self) -> tuple[tuple[str, str], ...]:
        """:returns: what agents pin, by the keys of their configuration."""
        return (
            ("serving_ca_spki_pin", self.authority.pin),
            ("join_signing_key_pin", pin(self.join_signing)),
            ("join_encryption_key_pin", pin(self.join_encryption)),
        )

    def pins_toml(self) -> str:
        """:returns: lines for ``site.toml``."""
        return "".join(f'{name} = "{value}"\n' for name, value in self.pins())

    def served(
        self, files: Files, names: Sequence[str], now: datetime, days: int = LEAF_DAYS
    ) -> bool:
        """
        Have a certificate for ``names`` in ``files``, valid for a while yet.

        :returns: whether it is a new one, which the listener has to read.
        :raises ConfigError: for names that no certificate can have.
        """
        try:
            data = files.read(SERVED)
            if data is not None and self._good(data, names, now, days):
                return False
            files.write(SERVED, self.authority.issue(names, now, days).pem())
        except ValueError as e:
            raise ConfigError([Problem(str(files.path / SERVED), str(e))]) from None
        return True

    def _good(self, data: bytes, names: Sequence[str], now: datetime, days: int) -> bool:
        try:
            served = Served.load(data)
        except ValueError:
            return False  # nobody pins it: another one does as well
        return self.authority.serves(served, names, now, days)


def _held(row: Row, files: Files, first: datetime | None, problems: list[Problem]) -> bytes:
    """:param first: now, when a missing key is to be made."""

    def wrong(what: str) -> bytes:
        problems.append(Problem(str(files.path / row.file), what))
        return b""

    try:
        data = files.read(row.file)
        if data is None:
            if first is None:
                return wrong(f"is missing: restore it, since it {row.purpose}")
            data = row.made(first)
            files.write(row.file, data)
            return data
    except ConfigError as e:
        problems += e.problems
        return b""
    except ValueError as e:
        return wrong(f"cannot be made: {e}")
    try:
        row.check(data)
    except Rejected as e:
        return wrong(f"is damaged: {e.detail}; restore it")
    except ValueError as e:
        return wrong(f"is damaged: {e}; restore it")
    return data
