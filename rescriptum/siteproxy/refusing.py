"""The rules of ``site.httpProxy`` by name, and what it is to be refused by one."""

from enum import Enum

from ..contract.refusals import Rejected


class Rule(Enum):
    """Why a request is not made; results carry the value."""

    TARGET = "target"
    METHOD = "method"
    HEADER = "header"
    URL = "url"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    HOST = "host"
    NUMERIC_HOST = "numeric-host"
    ZONE = "zone"
    PORT = "port"
    REDFISH = "redfish"
    BMC = "bmc"
    RESOLVED = "resolved"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link-local"
    MULTICAST = "multicast"
    UNSPECIFIED = "unspecified"
    PUBLIC = "public"


class Denied(Rejected):
    """
    A request that is not made.

    :ivar rule: that it breaks.
    """

    def __init__(self, rule: Rule, detail: str) -> None:
        """:param detail: for people; never a part of a query, a header or a body."""
        super().__init__("request-denied", f"{rule.value}: {detail}")
        self.rule = rule
