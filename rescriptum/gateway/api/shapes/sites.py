"""Sites, who may join them, and who has."""

from enum import Enum

from attrs import field, frozen

from ....boot.lease import LONGEST_TTL_MS, SHORTEST_TTL_MS, TTL_MS
from ....contract.bounds import NAME, many, name, number, text, title
from ....contract.joining import Role
from ....contract.reports import SectionStatus
from ....contract.structure import JSON

#: Seconds for which a join token may be used.
LONGEST_LIFETIME, USUAL_LIFETIME = 30 * 86_400, 3_600


class LeaseState(Enum):
    """What is known of who boots machines at a site."""

    FREE = "free"
    GRANTED = "granted"  # nothing was heard of the holder yet: it boots no machine
    HELD = "held"
    QUARANTINED = "quarantined"


@frozen
class Grant:
    """Who was given the boot lease, and when."""

    epoch: int
    node: str
    granted_at: str


@frozen
class Lease:
    """
    The boot lease of a site.

    :ivar ttl_ms: of this epoch. :ivar node: who holds it. :ivar wanted_node: who is to hold it.
    :ivar history: the last ones first; where one site is asked for.
    """

    site: str
    state: LeaseState
    epoch: int
    beat: int
    ttl_ms: int
    node: str | None = None
    session: str | None = None
    wanted_node: str | None = None
    history: tuple[Grant, ...] = ()


@frozen
class LeaseMove:
    """
    Who is to hold the boot lease.

    :ivar node: of this site; None: whoever can.
    """

    node: str | None = field(default=None, validator=name())


@frozen
class SiteCreate:
    """A site to be made. :ivar ttl_ms: of its boot lease."""

    name: str = field(validator=title())
    ttl_ms: int = field(default=TTL_MS, validator=number(SHORTEST_TTL_MS, LONGEST_TTL_MS))
    labels: JSON = field(factory=dict)


@frozen
class SiteChange:
    """What to change of a site; what is left out stays. :ivar ttl_ms: of the next epoch."""

    ttl_ms: int | None = field(default=None, validator=number(SHORTEST_TTL_MS, LONGEST_TTL_MS))
    labels: JSON | None = None


@frozen
class Site:
    """
    A site.

    :ivar ttl_ms: of the next epoch. :ivar nodes: how many have joined.
    :ivar live: how many of them have a session.
    """

    name: str
    created_at: str
    ttl_ms: int
    labels: JSON
    nodes: int
    live: int
    lease: Lease


@frozen
class Sites:
    """
    A page of sites.

    :ivar next: the cursor of the next page. :ivar event: the seq of the last one before it.
    """

    sites: tuple[Site, ...]
    event: int
    server_time: str
    next: str | None = None


@frozen
class TokenCreate:
    """A join token to be made. :ivar lifetime_s: for which it may be used, once."""

    site: str = field(validator=name())
    role: Role = Role.SITE
    lifetime_s: int = field(default=USUAL_LIFETIME, validator=number(60, LONGEST_LIFETIME))


@frozen
class TokenMade:
    """A join token. :ivar token: shown this once."""

    token: str = field(repr=False, validator=text(NAME))
    digest: str
    site: str
    role: Role
    expires_at: str


@frozen
class JoinToken:
    """What is kept of a join token. :ivar digest: of the token. :ivar node: whom it made."""

    digest: str
    site: str
    role: Role
    created_at: str
    expires_at: str
    used_at: str | None = None
    node: str | None = None
    machine: str | None = None
    workflow: str | None = None


@frozen
class Tokens:
    """A page of join tokens."""

    tokens: tuple[JoinToken, ...]
    next: str | None = None


@frozen
class Session:
    """A live session. :ivar boots: whether its agent has a boot server."""

    id: str
    opened_at: str
    heard_at: str
    boots: bool


@frozen
class Node:
    """
    An agent that has joined.

    :ivar jkt: thumbprint of its key. :ivar session: the live one.
    :ivar sections: of its last status. :ivar inventory: where one node is asked for.
    """

    id: str
    site: str
    role: Role
    jkt: str
    joined_at: str
    version: str
    boot_id: str
    kinds: tuple[str, ...] = field(validator=many())
    drivers: tuple[JSON, ...]
    labels: JSON
    desired_version: int
    sections: tuple[SectionStatus, ...]
    machine: str | None = None
    session: Session | None = None
    reported_at: str | None = None
    inventory: JSON | None = None


@frozen
class Nodes:
    """A page of nodes."""

    nodes: tuple[Node, ...]
    event: int
    server_time: str
    next: str | None = None
