"""``rescriptum gateway machine|discovered|adopt|image``: what there is to boot."""

from typing import Any, ClassVar

from ..options import Group
from .asking import Asked, Listing, Removing, Showing, done
from .client import Gateway
from .screen import Columns, Screen


class _Described(Asked):
    """A command that says what a machine has."""

    optParameters: ClassVar[list[list[str | None]]] = [
        ["uuid", None, None, "Its system UUID."],
        ["bmc-address", None, None, "Host, or HOST:PORT, of its BMC."],
        ["bmc-driver", None, None, "redfish, or a hosted driver."],
        ["bmc-pin", None, None, "Of the BMC's own key: sha256/…"],
        ["bmc-username", None, None, "At the BMC."],
        ["credential-ref", None, None, "The secret with the BMC's password."],
    ]

    def __init__(self) -> None:
        super().__init__()
        self.macs: list[str] = []
        self.addresses: list[str] | None = None

    def opt_mac(self, text: str) -> None:
        """An address that it boots by, the usual one first; as often as there are addresses."""
        self.macs.append(text)

    def opt_address(self, text: str) -> None:
        """A host that its site's agent may make requests to; as often as there are such."""
        self.addresses = [*(self.addresses or ()), *([text] if text else ())]

    def described(self) -> dict[str, Any]:
        """:returns: the fields that were given."""
        found = self.given(
            uuid="uuid",
            bmc_address="bmc-address",
            bmc_driver="bmc-driver",
            bmc_pin="bmc-pin",
            bmc_username="bmc-username",
            credential_ref="credential-ref",
        )
        if self.macs:
            found["macs"] = self.macs
        if self.addresses is not None:
            found["addresses"] = self.addresses
        return found


class MachineAdd(_Described):
    """``machine add``."""

    synopsis = "Usage: rescriptum gateway machine add NAME SITE [--mac MAC]… [--bmc-address HOST]"
    longdesc = "Writes down a machine, so that something can be done with it."
    takes = ("NAME", "SITE")

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        name, site = self.words
        body = {"name": name, "site": site, **self.described()}
        return done(screen, await gateway.post("machines", body=body), f"added {name}")


class MachineSet(_Described):
    """``machine set``."""

    synopsis = "Usage: rescriptum gateway machine set NAME [--site SITE] [--mac MAC]… [options]"
    longdesc = (
        "Changes what the options name; what they do not name stays. --mac names them all, and so"
        " does --address; --address '' takes all of them back."
    )
    optParameters: ClassVar[list[list[str | None]]] = [["site", "s", None, "Where it is."]]
    takes = ("NAME",)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        name = self.words[0]
        body = {**self.described(), **self.given(site="site")}
        before = await gateway.get("machines", name)
        match = f'"{before["revision"]}"'
        made = await gateway.put("machines", name, body=body, match=match)
        return done(screen, made, f"{name} is at revision {made['revision']}")


class MachineList(Listing):
    """``machine list``."""

    synopsis = "Usage: rescriptum gateway machine list [--site SITE]"
    longdesc = "Machines that somebody wrote down."
    optParameters: ClassVar[list[list[str | None]]] = [["site", "s", None, "Of this site."]]
    path, key, filters = ("machines",), "machines", ("site",)
    columns: ClassVar[Columns] = [
        ("name", "name"),
        ("site", "site"),
        ("MACs", "macs"),
        ("BMC", "bmc_address"),
        ("driver", "bmc_driver"),
        ("credential", "credential_ref"),
    ]


class MachineShow(Showing):
    """``machine show``."""

    synopsis = "Usage: rescriptum gateway machine show NAME"
    longdesc = "One machine."
    path, takes = ("machines",), ("NAME",)


class MachineRemove(Removing):
    """``machine remove``."""

    synopsis = "Usage: rescriptum gateway machine remove NAME"
    longdesc = "Forgets a machine that no workflow or node is about."
    path, takes = ("machines",), ("NAME",)


class MachineOptions(Group):
    """``machine``."""

    synopsis = "Usage: rescriptum gateway machine COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["add", None, MachineAdd, "Write one down."],
        ["list", None, MachineList, "All of them."],
        ["show", None, MachineShow, "One of them."],
        ["set", None, MachineSet, "Change one."],
        ["remove", None, MachineRemove, "Forget one."],
    ]


class DiscoveredList(Asked):
    """``discovered list``."""

    synopsis = "Usage: rescriptum gateway discovered list [SITE]"
    longdesc = "Machines that boot at SITE, or anywhere, and that nobody wrote down."
    takes = ("[SITE]",)
    columns: ClassVar[Columns] = [
        ("site", "site"),
        ("MAC", "mac"),
        ("IP", "ip"),
        ("arch", "arch"),
        ("UUID", "uuid"),
        ("first seen", "first_seen_at"),
        ("seen", "seen_at"),
    ]

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        names = list(self.words) or [each["name"] for each in await gateway.pages("sites", "sites")]
        found = []
        for name in names:
            found += await gateway.pages("discovered", "sites", name, "discovered")
        screen.rows("discovered", found, self.columns)
        return 0


class DiscoveredOptions(Group):
    """``discovered``."""

    synopsis = "Usage: rescriptum gateway discovered COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["list", None, DiscoveredList, "Machines that nobody wrote down."],
    ]


class AdoptOptions(_Described):
    """``adopt``."""

    synopsis = "Usage: rescriptum gateway adopt SITE MAC NAME [--bmc-address HOST] [options]"
    longdesc = "Writes down a discovered machine as NAME, with the MAC and UUID that were seen."
    takes = ("SITE", "MAC", "NAME")

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        site, mac, name = self.words
        body = {"name": name, **self.described()}
        body.pop("uuid", None)
        made = await gateway.post("sites", site, "discovered", mac, "adopt", body=body)
        return done(screen, made, f"added {name}: {', '.join(made['macs'])}")


class ImageAdd(Asked):
    """``image add``."""

    synopsis = "Usage: rescriptum gateway image add NAME URL SHA256 [--format F] [--site SITE]…"
    longdesc = "Writes down an image: where it is, and what its bytes hash to."
    optParameters: ClassVar[list[list[str | None]]] = [
        ["format", "f", "raw", "raw, gzip, zstd, xz or qcow2."],
    ]
    takes = ("NAME", "URL", "SHA256")

    def __init__(self) -> None:
        super().__init__()
        self.sites: list[str] = []

    def opt_site(self, text: str) -> None:
        """A site that is to cache it; as often as there are such sites."""
        self.sites.append(text)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        name, url, sha256 = self.words
        body = {"name": name, "url": url, "sha256": sha256.lower()}
        made = await gateway.post(
            "images", body={**body, "format": self["format"], "sites": self.sites}
        )
        return done(screen, made, f"added {name}")


class ImageList(Listing):
    """``image list``."""

    synopsis = "Usage: rescriptum gateway image list"
    longdesc = "Images, and which sites are to have each in their cache."
    path, key = ("images",), "images"
    columns: ClassVar[Columns] = [
        ("name", "name"),
        ("format", "format"),
        ("sites", "sites"),
        ("sha256", "sha256"),
        ("url", "url"),
    ]


class ImageRemove(Removing):
    """``image remove``."""

    synopsis = "Usage: rescriptum gateway image remove NAME"
    longdesc = "Forgets an image that no site is to have any more."
    path, takes = ("images",), ("NAME",)


class ImageAssign(Asked):
    """``image assign``."""

    synopsis = "Usage: rescriptum gateway image assign NAME SITE [--not]"
    longdesc = "Has SITE keep the image in its cache; with --not, lets it drop it."
    optFlags: ClassVar[list[list[str | None]]] = [["not", None, "Let the site drop it."]]
    takes = ("NAME", "SITE")

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        name, site = self.words
        path = ("images", name, "sites", site)
        made = await (gateway.delete(*path) if self["not"] else gateway.put(*path))
        return done(screen, made, f"{name}: {', '.join(made['sites']) or 'no site'}")


class ImageOptions(Group):
    """``image``."""

    synopsis = "Usage: rescriptum gateway image COMMAND [options]"
    subCommands: ClassVar[list[list[object]]] = [
        ["add", None, ImageAdd, "Write one down."],
        ["list", None, ImageList, "All of them."],
        ["remove", None, ImageRemove, "Forget one."],
        ["assign", None, ImageAssign, "Say which site caches it."],
    ]
