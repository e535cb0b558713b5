"""Sessions: ``POST /v1/sessions``, and what is asked within one beside frames."""

from attrs import field, frozen

from ..boot.lease import LONGEST_TTL_MS, SHORTEST_TTL_MS
from .bounds import SIGNED, many, name, number, text
from .joining import Role
from .structure import JSON

#: Seconds for which a nonce of a Hello is remembered: the skew on both sides, and some.
NONCES_KEPT = 660


@frozen
class Hello:
    """
    What the node key signs to open a session.

    :ivar audience: the gateway's server name. :ivar kinds: of commands that this agent runs.
    :ivar drivers: manifests of its hosted BMC drivers.
    :ivar boots: whether it has a boot server, and so may hold the boot lease.
    """

    node_id: str = field(validator=name())
    role: Role
    site: str = field(validator=name())
    boot_id: str = field(validator=text())
    version: str = field(validator=text())
    audience: str = field(validator=text())
    nonce: str = field(validator=text())
    issued_at: int = field(validator=number())
    kinds: tuple[str, ...] = field(default=(), validator=many(256))
    drivers: tuple[JSON, ...] = field(default=(), validator=many(64))
    labels: JSON = field(factory=dict)
    boots: bool = False


@frozen
class SessionRequest:
    """The body. :ivar hello: a :class:`Hello`, signed."""

    hello: str = field(validator=text(SIGNED))


@frozen
class Welcome:
    """
    A session.

    :ivar token: the bearer token of everything else in it.
    :ivar server_time: Unix time of the gateway, in seconds.
    """

    session: str = field(validator=name())
    token: str = field(repr=False, validator=text())
    heartbeat_ms: int = field(validator=number(100, 60_000))
    lease_ttl_ms: int = field(validator=number(SHORTEST_TTL_MS, LONGEST_TTL_MS))
    server_time: int = field(validator=number())


@frozen
class SecretRequest:
    """
    ``POST /v1/sessions/<id>/secrets``.

    :ivar ref: the secret's name. :ivar epoch: of the boot lease, for a discovery token; else 0.
    """

    ref: str = field(validator=name())
    workflow: str = field(validator=name())
    step: str = field(validator=name())
    command_id: str = field(validator=name())
    epoch: int = field(default=0, validator=number())


@frozen
class SecretAnswer:
    """A secret: it lives in memory only."""

    value: str = field(repr=False, validator=text(SIGNED, empty=True))


@frozen
class Problem:
    """
    The body of every reply that refuses.

    :ivar code: a row of the table of refusals. :ivar detail: what it was in this case.
    :ivar advice: what to do about it.
    """

    code: str = field(validator=text())
    detail: str = field(validator=text(4096, empty=True))
    advice: str = field(validator=text(4096, empty=True))
