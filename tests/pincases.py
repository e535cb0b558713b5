"""What servers may present to a client that trusts by pin, and what it must say of it."""

from functools import cache

from attrs import frozen
from OpenSSL.SSL import TLS1_1_VERSION

from rescriptum.contract.certificates import certificate_pin

from .certificates import CLIENT_AUTH, SERVER_AUTH, Issued, issued

NAME, ADDRESS = "gw.internal", "10.9.8.7"
ACCEPTED = "accepted"


@frozen
class Case:
    """
    One server.

    :ivar name: which a gateway must have; none for a BMC.
    :ivar pinned: whose key the client has been told.
    :ivar newest: TLS version that the server speaks at most.
    """

    label: str
    chain: tuple[Issued, ...]
    pinned: Issued
    name: str | None
    expected: str
    newest: int | None = None

    @property
    def pin(self) -> str:
        return certificate_pin(self.pinned.certificate).text


@cache
def cases() -> tuple[Case, ...]:
    """:returns: 31 of them: made once, since keys take their time."""
    root = issued("root", authority=True)
    between = issued("between", root, authority=True)
    leaf = issued("leaf", between, names=[NAME, ADDRESS])
    evil_root = issued("root", authority=True)
    evil = issued("between", evil_root, authority=True)
    evil_leaf = issued("leaf", evil, names=[NAME])
    own = issued(NAME, names=[NAME])
    own_authority = issued(NAME, names=[NAME], authority=True)
    late = issued("between", root, authority=True, days=(-3, -1))
    late_root = issued("root", authority=True, days=(-3, -1), key=root.key)
    no_authority = issued("none", between, names=["x.internal"])
    short = issued("short", authority=True, path_length=0)
    too_deep = issued("deep", short, authority=True)
    bmc = issued("bmc", days=(-30, -20))

    def gateway(
        label: str,
        *chain: Issued,
        expected: str = ACCEPTED,
        pinned: Issued = root,
        name: str = NAME,
        newest: int | None = None,
    ) -> Case:
        return Case(label, chain, pinned, name, expected, newest)

    def named(*names: str, issuer: Issued = between, days: tuple[int, int] = (-1, 1)) -> Issued:
        return issued("leaf", issuer, names=names, days=days)

    full = (leaf, between, root)
    return (
        gateway("leaf, intermediate, root", *full),
        gateway("root before intermediate", leaf, root, between),
        gateway("an address as name", *full, name=ADDRESS),
        gateway("intermediate pinned, no root", leaf, between, pinned=between),
        gateway("intermediate pinned, and a root", *full, pinned=between),
        gateway(
            "for servers", issued("leaf", between, names=[NAME], usage=SERVER_AUTH), between, root
        ),
        gateway("issued by the root itself", issued("leaf", root, names=[NAME]), root),
        gateway("root not sent", leaf, between, expected="pin-mismatch"),
        gateway("another CA", evil_leaf, evil, evil_root, expected="pin-mismatch"),
        gateway("self-signed", own, expected="pin-mismatch"),
        gateway(
            "self-signed CA, its key pinned",
            own_authority,
            pinned=own_authority,
            expected="pin-mismatch",
        ),
        gateway("leaf pinned, sent twice", *full, leaf, pinned=leaf, expected="pin-mismatch"),
        gateway("another CA, right root too", evil_leaf, evil, root, expected="chain-invalid"),
        gateway(
            "the names of the chain, other keys",
            evil_leaf,
            issued("between", evil_root, authority=True, key=evil.key),
            root,
            expected="chain-invalid",
        ),
        gateway(
            "leaf expired", named(NAME, days=(-3, -1)), between, root, expected="chain-invalid"
        ),
        gateway(
            "leaf of the future", named(NAME, days=(1, 2)), between, root, expected="chain-invalid"
        ),
        gateway(
            "intermediate expired", named(NAME, issuer=late), late, root, expected="chain-invalid"
        ),
        gateway("pinned root expired", leaf, between, late_root, expected="chain-invalid"),
        gateway(
            "issuer that is no CA",
            named(NAME, issuer=no_authority),
            no_authority,
            between,
            root,
            expected="chain-invalid",
        ),
        gateway(
            "path too long",
            named(NAME, issuer=too_deep),
            too_deep,
            short,
            pinned=short,
            expected="chain-invalid",
        ),
        gateway(
            "for clients only",
            issued("leaf", between, names=[NAME], usage=CLIENT_AUTH),
            between,
            root,
            expected="chain-invalid",
        ),
        gateway("self-signed, real root too", own, root, expected="chain-invalid"),
        gateway("another name", *full, name="other.internal", expected="name-mismatch"),
        gateway("another address", *full, name="10.9.8.8", expected="name-mismatch"),
        gateway("common name only", issued(NAME, between), between, root, expected="name-mismatch"),
        gateway("TLS 1.1", *full, newest=TLS1_1_VERSION, expected="tls-error"),
        Case("BMC, self-signed", (own,), own, None, ACCEPTED),
        Case("BMC, expired", (bmc,), bmc, None, ACCEPTED),
        Case("BMC, another key", (issued("bmc"),), bmc, None, "pin-mismatch"),
        Case("BMC, pinned as CA", (issued("x", own), own), own, None, "pin-mismatch"),
        Case("BMC, TLS 1.1", (bmc,), bmc, None, "tls-error", TLS1_1_VERSION),
    )
