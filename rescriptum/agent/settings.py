"""
THE table of keys of ``site.toml``: the configuration, its errors and the page about it read it.
"""

import re
from collections.abc import Callable
from functools import partial
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Network, ip_network

from attrs import frozen
from hyperlink import DecodedURL

from .. import parsing
from ..boot.loaders import SERVED
from ..boot.offers import Preferences
from ..contract.bounds import NAME, is_name
from ..contract.pins import Pin
from ..values import Listen

DATA_DIR = "/var/lib/rescriptum"
#: An old CA and its successor.
MOST_PINS = 2
_INTERFACE = re.compile(r"[^\s/:]{1,15}")


@frozen
class Key:
    """
    One key.

    :ivar path: its place in the file, dotted.
    :ivar parse: text to value; raises ValueError with a sentence that says what would be right. A
        list of texts comes with commas between.
    :ivar default: text, parsed like any other; None: unset is a value of its own.
    :ivar help: one sentence for people.
    :ivar otherwise: what an unset one means, for people.
    :ivar required: an agent cannot start without it.
    """

    path: str
    parse: Callable[[str], object]
    default: str | None
    help: str
    otherwise: str = ""
    required: bool = False


def url(text: str, scheme: str = "https") -> DecodedURL:
    """
    An absolute URL that paths can be put behind; one that is wrong may hold a password.

    :param scheme: that an operator is told to want.
    """
    try:
        made = DecodedURL.from_text(text)
    except ValueError:
        made = DecodedURL()
    port = made.port
    if (
        made.scheme not in ("http", "https")
        or not made.host
        or not made.host.isascii()  # a certificate's names are
        or (port is not None and not 0 < port < 65536)
    ):
        raise ValueError(f"want {scheme}://HOST or {scheme}://HOST:PORT")
    if "@" in text or "?" in text or "#" in text:
        raise ValueError("want a URL without user, query and fragment")
    return made.replace(path=[each for each in made.path if each])


def pins(text: str) -> tuple[Pin, ...]:
    """One pin, or two while a CA is being replaced."""
    made = tuple(Pin.parse(each) for each in text.split(","))
    if len(made) > MOST_PINS:
        raise ValueError(f"{MOST_PINS} pins at the most: the old one and its successor")
    return made


def name(text: str) -> str:
    """As messages allow it."""
    if not is_name(text):
        raise ValueError(f"want a name of 1 to {NAME} letters, digits, '-', '_', '.' and ':'")
    return text


def networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """CIDRs; none of them is right, too."""
    made = []
    for each in filter(None, (part.strip() for part in text.split(","))):
        try:
            made.append(ip_network(each))
        except ValueError as e:
            raise ValueError(f"not a network such as 10.0.0.0/8: {each!r} ({e})") from None
    return tuple(made)


def ipv4(text: str) -> IPv4Address:
    """An address that machines can be told."""
    try:
        address = IPv4Address(text)
    except AddressValueError:
        raise ValueError(f"want an IPv4 address, not {text!r}") from None
    if address.is_unspecified or address.is_multicast:
        raise ValueError(f"an address that machines can be sent to, not {text!r}")
    return address


def interface(text: str) -> str:
    """What the kernel takes for the name of one."""
    if not _INTERFACE.fullmatch(text) or text in (".", ".."):
        raise ValueError(f"want the name of a network interface, not {text!r}")
    return text


def file_name(text: str) -> str:
    """Of something below the TFTP root."""
    if not text.isprintable() or any(part in ("", ".", "..") for part in text.split("/")):
        raise ValueError(f"want the name of a file below tftp_root, not {text!r}")
    return text


def flag(text: str) -> bool:
    """``true`` or ``false``, as TOML has it."""
    return parsing.one_of("true", "false")(text) == "true"


_PIN = "as 'rescriptum gateway pins' prints it"

KEYS = (
    Key(
        "gateway_url",
        url,
        None,
        "The gateway: https://HOST, with :PORT where it is not 443.",
        required=True,
    ),
    Key(
        "gateway_server_name",
        parsing.host,
        None,
        "The name that the gateway's certificate has to have.",
        "the URL's host",
    ),
    Key(
        "site.name",
        name,
        None,
        'The site that the join token is for; where there is no [site], also site = "NAME".',
        required=True,
    ),
    Key(
        "data_dir",
        parsing.path,
        DATA_DIR,
        "Identity, journal and cache; made with mode 0700, for one agent alone.",
    ),
    Key(
        "log_format",
        parsing.one_of("text", "json"),
        "text",
        "How lines are logged: text for people, json for machines.",
    ),
    Key(
        "serving_ca_spki_pin",
        pins,
        None,
        f"The CA of the gateway's certificate, {_PIN}; a list of two while it is replaced.",
        "the system's trust store decides",
    ),
    Key(
        "join_signing_key_pin",
        Pin.parse,
        None,
        f"The key that signs the answer to a join, {_PIN}.",
        "the connection vouches for it",
    ),
    Key(
        "join_encryption_key_pin",
        Pin.parse,
        None,
        f"The key that the join token is sealed to, {_PIN}.",
        "the connection vouches for it",
    ),
    Key(
        "site.bmc_networks",
        networks,
        "",
        "Networks, such as 10.0.0.0/8, that site.httpProxy never reaches: those of BMCs.",
    ),
    Key(
        "site.cache_max_bytes",
        parsing.number(0, 10**11, "bytes"),
        "0",
        "What cached images may take; 0: as much as there is.",
    ),
    Key(
        "site.drivers_dir",
        parsing.path,
        None,
        "Where drivers of BMCs are that are programs of their own.",
        "only Redfish",
    ),
    Key(
        "boot.listen",
        Listen.parse,
        None,
        "Where the boot server binds for HTTP, such as 0.0.0.0:8080.",
        "no boot server",
    ),
    Key(
        "boot.url",
        partial(url, scheme="http"),
        None,
        "What machines and BMCs reach the boot server by.",
        "no image cache and no proxy DHCP",
    ),
    Key(
        "boot.server_ip",
        ipv4,
        None,
        "This host's address in DHCP: option 54 and siaddr.",
        "no proxy DHCP",
    ),
    Key(
        "boot.proxy_dhcp",
        flag,
        "false",
        "Answer machines that boot, on UDP 67 and 4011, beside the DHCP server that there is.",
    ),
    Key(
        "boot.interface",
        interface,
        None,
        "The network interface for DHCP.",
        "all of them",
    ),
    Key(
        "boot.offers",
        Preferences.parse,
        "",
        "Strategies of proxy DHCP, such as 52:54:00:12:34:56=bounce: by MAC, its first three"
        " octets, or architecture.",
    ),
    Key(
        "boot.learn_offers",
        flag,
        "false",
        "Answer machines that ignore offers by the next strategy.",
    ),
    Key(
        "boot.tftp_listen",
        Listen.parse,
        "0.0.0.0:69",
        "Where TFTP binds, where there is a tftp_root.",
    ),
    Key(
        "boot.tftp_root",
        parsing.path,
        None,
        "The directory of the loaders.",
        "no TFTP",
    ),
    Key("boot.kernel", parsing.path, None, "The ramdisk's kernel, x86_64.", "none"),
    Key("boot.initrd", parsing.path, None, "The ramdisk itself, x86_64.", "none"),
    Key("boot.kernel_arm64", parsing.path, None, "The ramdisk's kernel, arm64.", "none"),
    Key("boot.initrd_arm64", parsing.path, None, "The ramdisk itself, arm64.", "none"),
    Key(
        "boot.cmdline",
        parsing.line,
        None,
        "What the ramdisk's kernel is told beside the agent's own arguments.",
        "nothing",
    ),
    *(
        Key(
            f"boot.loader_{row.tag}",
            file_name,
            None,
            f"The loader of {row.client}, below tftp_root.",
            str(row.loader),
        )
        for row in {each.tag: each for each in reversed(SERVED)}.values()
    ),
)

BY_PATH = {each.path: each for each in KEYS}
TABLES = {path.partition(".")[0] for path in BY_PATH if "." in path}
