"""The desired state of a node, in sections."""

from attrs import field, frozen

from ..boot.lease import LONGEST_TTL_MS, SHORTEST_TTL_MS
from .bounds import many, name, number, text
from .sources import LONGEST


@frozen
class LeaseSection:
    """
    The boot lease as this session has it.

    :ivar active: whether it is this very session that holds ``epoch``.
    :ivar ttl_ms: of that epoch; None: 15 seconds.
    """

    active: bool = False
    epoch: int = field(default=0, validator=number())
    ttl_ms: int | None = field(default=None, validator=number(SHORTEST_TTL_MS, LONGEST_TTL_MS))


@frozen
class CacheImage:
    """An image that the site's cache should have. :ivar sha256: of the stored bytes, in hex."""

    sha256: str = field(validator=text(64))
    url: str = field(validator=text(LONGEST))
    format: str = field(default="raw", validator=name())


@frozen
class ProxyTarget:
    """A machine without an agent that requests may be made for, by its addresses and names."""

    node_id: str = field(validator=name())
    addresses: tuple[str, ...] = field(default=(), validator=many(64))


@frozen
class SiteSpec:
    """What a site agent is to have."""

    lease: LeaseSection = LeaseSection()
    cache_images: tuple[CacheImage, ...] = field(default=(), validator=many())
    proxy_targets: tuple[ProxyTarget, ...] = field(default=(), validator=many())


@frozen
class NodeSpec:
    """:ivar version: goes up with every change. :ivar site: of site agents alone."""

    version: int = field(validator=number())
    site: SiteSpec | None = None
