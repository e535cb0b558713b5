"""The boot server's cache paths: images, for whoever has a grant."""

from attrs import define, frozen
from twisted.logger import Logger

from ..boot.events import Event, ImageSent, MediumRefused, record
from ..errors import NotFound
from ..interfaces import Fence
from ..values import MAC
from ..web.reply import FileReply, Finished
from ..web.request import Request
from ..web.routing import Routes
from .grants import EpochFence, Grants
from .service import CacheService

Address = tuple[str, int]
#: Connections of which ranges are counted; with one more, those of the first are told.
MAX_COUNTED = 4096
#: Images that one connection is counted for.
MAX_IMAGES = 16


@frozen
class Served:
    """
    What a reply was about.

    :ivar grant: as logs call it. :ivar mac: of a boot grant's machine.
    """

    digest: str
    grant: str
    mac: MAC | None = None


@define
class _Count:
    """Replies with bytes of one image on one connection: sanboot has thousands (W163)."""

    served: Served
    size: int
    status: int
    requests: int = 0
    sent: int = 0
    seconds: float = 0.0
    outcome: str = ""

    def add(self, done: Finished) -> None:
        self.requests += 1
        self.sent += done.sent
        self.seconds += done.seconds
        self.outcome = done.outcome.value

    def event(self, peer: Address) -> ImageSent:
        return ImageSent(
            peer=peer,
            image=self.served.digest,
            path=f"cache under grant {self.served.grant}",
            mac=self.served.mac,
            size=self.size,
            sent=self.sent,
            requests=self.requests,
            seconds=self.seconds,
            outcome=self.outcome,
            status=self.status,
        )


class CacheTree:
    """
    ``/cache/t/GRANT/SHA256`` for machines that boot, ``/cache/f/GRANT/SHA256`` for BMCs.

    Every reply is decided anew, a further range too: a grant that lapses, and a boot lease that
    goes, end with the reply that is under way. No path is logged: a grant is a secret.
    """

    routes = Routes()
    _log = Logger()

    def __init__(self, cache: CacheService, grants: Grants, fence: Fence) -> None:
        self._cache = cache
        self._grants = grants
        self._fence = fence
        self._counted: dict[Address, dict[Served, _Count]] = {}
        # The last refusal of each connection: a client that insists is one line.
        self._refused: dict[Address, tuple[int, str]] = {}

    @routes.get("/cache/t/<grant>/<sha256>")
    def boot(self, request: Request, grant: str, digest: str) -> FileReply:
        """
        An image, for a machine that boots.

        :raises Refused: without a grant that lasts.
        :raises Unavailable: while the boot lease is not held.
        :raises NotFound: for an image that is not here; the machine has another source for it.
        """
        given = self._grants.redeem_boot(grant)
        served = Served(digest, given.name, given.mac)
        return self._reply(request, served, EpochFence(given.epoch, self._fence))

    @routes.get("/cache/f/<grant>/<sha256>")
    def firmware(self, request: Request, grant: str, digest: str) -> FileReply:
        """
        The one image of a grant, for a BMC.

        :raises Refused: without a grant that lasts.
        :raises NotFound: when the image is not here.
        """
        given = self._grants.redeem_firmware(grant, digest)
        return self._reply(request, Served(digest, given.name), None)

    def _reply(self, request: Request, served: Served, fence: Fence | None) -> FileReply:
        content = self._cache.find(served.digest)
        if content is None:
            raise NotFound(f"no image {served.digest[:64]!r} under grant {served.grant}")
        if request.method == "GET":
            self._cache.used(served.digest)
        return FileReply(content, about=served, fence=fence)

    def finished(self, done: Finished) -> None:
        """One exchange is over."""
        served = done.about
        if done.status >= 400 or done.status == 0 or done.request is None:
            self._tell_refusal(done)
        elif isinstance(served, Served) and done.request.method == "GET":
            if done.status == 206:
                self._count(served, done)
            else:
                count = _Count(served, done.size, done.status)
                count.add(done)
                self._tell(count.event(done.peer))

    def _count(self, served: Served, done: Finished) -> None:
        if done.peer not in self._counted and len(self._counted) >= MAX_COUNTED:
            self._tell_counted(next(iter(self._counted)))
        counts = self._counted.setdefault(done.peer, {})
        if served not in counts and len(counts) >= MAX_IMAGES:
            self._tell(counts.pop(next(iter(counts))).event(done.peer))
        counts.setdefault(served, _Count(served, done.size, done.status)).add(done)

    def _tell_counted(self, peer: Address) -> None:
        for each in self._counted.pop(peer, {}).values():
            self._tell(each.event(peer))

    def _tell_refusal(self, done: Finished) -> None:
        if self._refused.get(done.peer) == (done.status, done.reason):
            return
        self._refused[done.peer] = done.status, done.reason
        method = "-" if done.request is None else done.request.method
        refused = MediumRefused(
            peer=done.peer, method=method, target="/cache", status=done.status, reason=done.reason
        )
        self._tell(refused)

    def _tell(self, event: Event) -> None:
        record(self._log, event)

    def closed(self, peer: Address) -> None:
        """A connection is gone: what was counted for it is told."""
        self._refused.pop(peer, None)
        self._tell_counted(peer)
