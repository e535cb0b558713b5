"""The first link of a machine's way at a site: what proxy DHCP did, as events."""

from attrs import frozen

from ..boot.events import WARN, Event
from ..values import MAC


@frozen(kw_only=True)
class DhcpOffered(Event):
    """
    A machine was told its boot file, beside the site's own DHCP server.

    :ivar answer: ``OFFER`` or ``ACK``.
    :ivar client: which firmware it is, for people.
    :ivar boot_file: a name for TFTP, or a URL. :ivar strategy: how it was said.
    :ivar times: how often this question came; ``untold``: answers in the second before, which have
        no event of their own.
    """

    name = "dhcp.offered"
    link = "dhcp"
    sentence = (
        "dhcp: {answer} to {mac} ({client}): {boot_file} strategy={strategy} times={times} "
        "untold={untold}"
    )

    mac: MAC
    answer: str
    client: str
    boot_file: str
    strategy: str
    times: int
    untold: int = 0


@frozen(kw_only=True)
class DhcpIgnored(Event):
    """
    The same question came again and again: our offers do not suit the machine's firmware, or no
    DHCP server gives it an address.

    :ivar strategy: by which it is answered from here on.
    """

    name = "dhcp.ignored"
    link = "dhcp"
    sentence = (
        "dhcp: {mac} ({client}) {outcome}: it asked {times} times and took nobody's answer; from "
        "here on strategy={strategy}. If that does not help, and a DHCP server does give it an "
        "address, put options 66 and 67 there: 'rescriptum boot dhcp-snippet' prints them"
    )
    level = WARN
    problem = True

    mac: MAC
    client: str
    times: int
    strategy: str
    outcome: str = "offer-ignored"


@frozen(kw_only=True)
class DhcpDiscovered(Event):
    """A machine asked that nobody prepared anything for: it is left alone, and listed."""

    name = "dhcp.discovered"
    link = "dhcp"
    sentence = "dhcp: {mac} ({client}) left alone: it has no boot entry"

    mac: MAC
    client: str


@frozen(kw_only=True)
class DhcpRefused(Event):
    """
    A machine with a boot entry gets no answer.

    :ivar code: ``no-loader``, ``too-long`` …
    """

    name = "dhcp.refused"
    link = "dhcp"
    sentence = "dhcp: {mac} ({client}) not answered: {code} {reason}"
    problem = True

    mac: MAC
    client: str
    code: str
    reason: str


@frozen(kw_only=True)
class DhcpForeign(Event):
    """
    Another server says what ours says.

    :ivar server: its address. :ivar code: ``another-proxy``, ``vendor-class`` or ``boot-file``.
    :ivar cure: what to change there.
    """

    name = "dhcp.foreign"
    link = "dhcp"
    sentence = "dhcp: {server} {code}: {reason}; {cure}"
    level = WARN
    problem = True

    server: str
    code: str
    reason: str
    cure: str
