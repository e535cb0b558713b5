"""What tests of a site's boot server share: a fence, a directory and an agent in memory."""

from pathlib import Path

from attrs import define, field
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from rescriptum.boot.bootparams import BootParameters
from rescriptum.boot.discovery import Discoveries
from rescriptum.boot.entries import BootEntry, BootKind
from rescriptum.contract.joining import Keys
from rescriptum.contract.keys import Key, generate, public_jwk
from rescriptum.contract.sessions import SecretRequest
from rescriptum.contract.structure import JSON
from rescriptum.errors import RescriptumError
from rescriptum.siteboot.client import Asked
from rescriptum.siteboot.resource import BootTree, Place, Ramdisk
from rescriptum.siteboot.store import Kept
from rescriptum.testing import MemoryWorkers
from rescriptum.values import MAC, Secret

MACHINE, OTHER = MAC.parse("52:54:00:12:34:56"), MAC.parse("52:54:00:12:34:57")
DIGEST = "ab" * 32
NOW = 1_700_000_000
NODE, SIGNING, ENCRYPTION = generate("Ed25519"), generate("Ed25519"), generate("X25519")


@define
class Lease:
    """
    Satisfies :class:`rescriptum.interfaces.Fence`.

    :ivar looks: how often it is open from now on; None: as ``active`` says.
    :ivar answers: that were handed over.
    """

    epoch: int = 7
    active: bool = True
    looks: int | None = None
    answers: int = 0

    def is_open(self) -> bool:
        if self.looks is not None:
            self.looks -= 1
            return self.looks >= 0
        return self.active

    def sent(self) -> None:
        self.answers += 1


@define
class MemoryDirectory:
    """:ivar error: of every write, or of whoever was to do it."""

    files: dict[str, bytes] = field(factory=dict)
    error: OSError | RescriptumError | None = None
    aside: list[str] = field(factory=list)

    def read(self, name: str) -> bytes | None:
        return self.files.get(name)

    def write(self, name: str, data: bytes) -> None:
        if self.error is not None:
            raise self.error
        self.files[name] = data

    def set_aside(self, name: str, reason: str, now: float) -> str:
        self.aside.append(name)
        del self.files[name]
        return f"{name}.corrupt"


@define
class Agent:
    """
    Satisfies :class:`rescriptum.siteboot.tokens.Vouching`.

    :ivar asked: for secrets. :ivar held: while it is set, secrets come when it fires.
    """

    site: str = "lyon"
    key: Key | None = NODE
    asked: list[SecretRequest] = field(factory=list)
    error: RescriptumError | None = None
    held: Deferred[None] | None = None
    keys_asked: int = 0

    def now(self) -> int:
        return NOW

    async def kept_secret(self, request: SecretRequest) -> Secret:
        self.asked.append(request)
        if self.held is not None:
            await self.held
        if self.error is not None:
            raise self.error
        return Secret("rsjt_secret")

    async def join_keys(self) -> Keys:
        self.keys_asked += 1
        return Keys(JSON(public_jwk(SIGNING)), JSON(public_jwk(ENCRYPTION)))


@define
class Images:
    """Satisfies :class:`rescriptum.siteboot.resource.Images`."""

    there: set[str] = field(factory=set)
    granted: list[tuple[MAC, float | None]] = field(factory=list)

    def has(self, digest: str) -> bool:
        return digest in self.there

    def grant(self, mac: MAC, lasting: float | None) -> str:
        self.granted.append((mac, lasting))
        return "0123"


def entry(kind: BootKind = BootKind.RAMDISK, **changes: object) -> BootEntry:
    given: dict[str, object] = {
        "workflow": "w1",
        "token_ref": "join-w1",
        "step": "boot.prepareRamdisk",
        "command": "c1",
        "epoch": 7,
        "not_after": NOW + 3600,
    }
    if kind is BootKind.SANBOOT:
        given["sanboot_sha256"] = DIGEST
    return BootEntry(**{"mac": MACHINE, "kind": kind, **given, **changes})  # type: ignore[arg-type]


@define(slots=False)
class Server:
    """
    A boot server without a listener.

    :ivar dropped: machines whose entries went. :ivar ramdisk: whether it has one.
    """

    here: Path
    lease: Lease = field(factory=Lease)
    agent: Agent = field(factory=Agent)
    images: Images | None = field(factory=Images)
    directory: MemoryDirectory = field(factory=MemoryDirectory)
    dropped: list[MAC] = field(factory=list)
    clock: Clock = field(factory=Clock)
    url: str = "http://192.0.2.1:8080"
    found: int = 0
    ramdisk: bool = True

    def __attrs_post_init__(self) -> None:
        self.kept = Kept(
            self.directory, MemoryWorkers(), Discoveries(False), lambda: NOW, self.dropped.append
        )
        for name in ("kernel", "initrd"):
            (self.here / name).write_bytes(name.encode())
        parameters = BootParameters(
            gateway="https://gw.example:8443", site="lyon", serving_ca_pin="sha256/abc"
        )
        x86_64 = Ramdisk(self.here / "kernel", self.here / "initrd")
        x86_64 = x86_64 if self.ramdisk else Ramdisk(None, None)
        ramdisks = {"": x86_64, "-arm64": Ramdisk(None, None)}
        self.tree = BootTree(
            Place(self.url, parameters, "console=ttyS0", ramdisks),
            self.kept,
            self.lease,
            self.agent,
            Asked(self.agent, None, self.clock.seconds),
            images=self.images,
            loaders=None,
            now=lambda: NOW,
            found=self._found,
        )

    def _found(self) -> None:
        self.found += 1
