"""Machines that somebody wrote down, those that were seen, and the images for them."""

from attrs import field, frozen

from ....contract.bounds import many, number, text, title
from ....contract.structure import JSON

#: Interfaces of a machine, hosts that it is reached by, and characters of a URL.
INTERFACES, HOSTS, URL = 64, 16, 2048


@frozen
class MachineCreate:
    """
    A machine to be written down.

    :ivar macs: of all interfaces that boot from the network, the usual one first.
    :ivar bmc_address: host, or host and port; empty: it has none.
    :ivar bmc_pin: of the BMC's own key, ``sha256/…``. :ivar credential_ref: name of a secret.
    :ivar addresses: hosts that the site's agent may be told to make requests to.
    """

    name: str = field(validator=title())
    site: str = field(validator=title())
    macs: tuple[str, ...] = field(default=(), validator=many(INTERFACES))
    uuid: str = field(default="", validator=text(empty=True))
    bmc_address: str = field(default="", validator=text(255, empty=True))
    bmc_driver: str = field(default="", validator=text(empty=True))
    bmc_pin: str = field(default="", validator=text(empty=True))
    bmc_username: str = field(default="", validator=text(empty=True))
    credential_ref: str = field(default="", validator=text(empty=True))
    labels: JSON = field(factory=dict)
    addresses: tuple[str, ...] = field(default=(), validator=many(HOSTS))


@frozen
class MachineChange:
    """What to change of a machine; what is left out stays."""

    site: str | None = field(default=None, validator=title())
    macs: tuple[str, ...] | None = field(default=None)
    uuid: str | None = field(default=None, validator=text(empty=True))
    bmc_address: str | None = field(default=None, validator=text(255, empty=True))
    bmc_driver: str | None = field(default=None, validator=text(empty=True))
    bmc_pin: str | None = field(default=None, validator=text(empty=True))
    bmc_username: str | None = field(default=None, validator=text(empty=True))
    credential_ref: str | None = field(default=None, validator=text(empty=True))
    labels: JSON | None = None
    addresses: tuple[str, ...] | None = field(default=None)


@frozen
class Machine:
    """A machine. :ivar revision: goes up with every change; also its ETag."""

    name: str
    site: str
    macs: tuple[str, ...]
    created_at: str
    revision: int
    uuid: str | None = None
    bmc_address: str | None = None
    bmc_driver: str | None = None
    bmc_pin: str | None = None
    bmc_username: str | None = None
    credential_ref: str | None = None
    labels: JSON = field(factory=dict)
    addresses: tuple[str, ...] = ()


@frozen
class Machines:
    """A page of machines."""

    machines: tuple[Machine, ...]
    event: int
    server_time: str
    next: str | None = None


@frozen
class DiscoveredMachine:
    """A machine that boots at a site, and that nobody wrote down."""

    site: str
    mac: str
    first_seen_at: str
    seen_at: str
    uuid: str | None = None
    arch: str | None = None
    ip: str | None = None


@frozen
class Discoveries:
    """A page of discovered machines."""

    discovered: tuple[DiscoveredMachine, ...]
    event: int
    server_time: str
    next: str | None = None


@frozen
class Adoption:
    """
    A discovered machine becomes one that is written down, with the MAC and UUID that were seen.

    :ivar macs: further ones.
    """

    name: str = field(validator=title())
    macs: tuple[str, ...] = field(default=(), validator=many(INTERFACES))
    bmc_address: str = field(default="", validator=text(255, empty=True))
    bmc_driver: str = field(default="", validator=text(empty=True))
    bmc_pin: str = field(default="", validator=text(empty=True))
    bmc_username: str = field(default="", validator=text(empty=True))
    credential_ref: str = field(default="", validator=text(empty=True))
    labels: JSON = field(factory=dict)
    addresses: tuple[str, ...] = field(default=(), validator=many(HOSTS))


@frozen
class ImageCreate:
    """
    An image that sites may cache.

    :ivar sha256: of the bytes at ``url``, in hexadecimal. :ivar format: of them.
    """

    name: str = field(validator=title())
    sha256: str = field(validator=text(64))
    url: str = field(validator=text(URL))
    format: str = field(default="raw", validator=title())
    sites: tuple[str, ...] = field(default=(), validator=many())


@frozen
class Image:
    """An image. :ivar sites: that are to have it in their cache."""

    name: str
    sha256: str
    url: str
    format: str
    created_at: str
    revision: int = field(validator=number())
    sites: tuple[str, ...] = ()


@frozen
class Images:
    """A page of images."""

    images: tuple[Image, ...]
    event: int
    server_time: str
    next: str | None = None
