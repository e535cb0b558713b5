"""What there is but once: who may do what, what is trusted, what has happened."""

from attrs import field, frozen

from ....contract.bounds import LARGEST, SIGNED, number, text, title
from ....contract.structure import JSON
from ...records import Scope


@frozen
class OperatorCreate:
    """Somebody, or a program, that is to have a token."""

    name: str = field(validator=title())
    scope: Scope = Scope.READ


@frozen
class OperatorMade:
    """:ivar token: shown this once."""

    name: str
    scope: Scope
    token: str = field(repr=False, validator=text())


@frozen
class Operator:
    """Who has a token, and for what."""

    name: str
    scope: Scope
    created_at: str


@frozen
class Operators:
    """A page of operators."""

    operators: tuple[Operator, ...]
    next: str | None = None


@frozen
class SecretSet:
    """:ivar value: never shown again."""

    value: str = field(repr=False, validator=text(SIGNED))


@frozen
class Secret:
    """That there is a secret."""

    name: str
    created_at: str
    changed_at: str


@frozen
class Secrets:
    """A page of secrets, by name."""

    secrets: tuple[Secret, ...]
    next: str | None = None


@frozen
class Pins:
    """What an agent's configuration pins. :ivar server_name: which the certificate has."""

    server_name: str
    serving_ca_spki_pin: str
    join_signing_key_pin: str
    join_encryption_key_pin: str


@frozen
class Event:
    """
    Something that happened.

    :ivar seq: goes up. :ivar subject: what it happened to. :ivar data: as its kind has it.
    """

    seq: int = field(validator=number(0, LARGEST))
    at: str
    kind: str
    subject: str
    data: JSON
    site: str | None = None


@frozen
class Events:
    """A page of events, the oldest first. :ivar next: where to go on: also when there are none."""

    events: tuple[Event, ...]
    next: str
