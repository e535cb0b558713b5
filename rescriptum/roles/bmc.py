"""A site agent's ways to BMCs, composed: Redfish by its own client, others by hosted drivers."""

import os
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from attrs import evolve, frozen
from hyperlink import DecodedURL
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.interfaces import IReactorPluggableNameResolver, IReactorTime
from twisted.logger import Logger

from ..agent.character import Character
from ..agent.config import SiteConfig
from ..agent.store import DataDirectory
from ..bmc.driver import Asked, Driver
from ..bmc.hosted import store as hosted
from ..bmc.hosted.driver import HostedDriver
from ..bmc.hosted.manifest import BUILT_IN
from ..bmc.hosted.store import HostedProgram
from ..bmc.hosts import authority
from ..bmc.kinds import kinds
from ..bmc.queue import Queues
from ..bmc.redfish.driver import RedfishDriver
from ..bmc.redfish.quirks import Profiles
from ..bmc.store import KnownHosts
from ..bmc.trust import Trust
from ..cache.grants import FirmwareGrant, Grants
from ..cache.service import CacheService
from ..contract.bmc import BmcOperationRequest, BmcRefusal, Operation
from ..contract.sources import is_digest
from ..contract.specs import CacheImage
from ..contract.structure import JSON
from ..errors import Refused, Unavailable, Unverified
from ..interfaces import Workers
from ..net.processes import Ended, Program, Reactor, ran
from ..siteproxy.client import ProxyClient

#: Seconds beside an operation's own until whoever does not end by itself is ended.
GRACE: Final = 15.0


@frozen
class Offer:
    """Satisfies :class:`rescriptum.bmc.kinds.Granted`."""

    url: str
    _grants: Grants
    _grant: FirmwareGrant

    def withdraw(self) -> None:
        """Nobody fetches it any more."""
        self._grants.withdraw_firmware(self._grant)


@frozen
class Offers:
    """
    Images that BMCs fetch from this agent.

    :ivar url: what it is reached by.
    """

    cache: CacheService
    grants: Grants
    url: str

    async def offer(self, image: CacheImage) -> Offer:
        """:raises Unverified: when there is no such image."""
        await self.cache.bring(image)
        # From here on the grant is what keeps the image.
        grant = self.grants.firmware(image.sha256)
        return Offer(f"{self.url}/cache/f/{grant.token}/{image.sha256}", self.grants, grant)


class _Firmware:
    """Satisfies :class:`rescriptum.bmc.kinds.Firmware`."""

    def __init__(self, clock: IReactorTime, offers: Callable[[], Offers | None]) -> None:
        self._clock = clock
        self._offers = offers

    async def image(self, sha256: str, url: str, seconds: float) -> Offer:
        """:raises BmcRefusal: ``image-unverified``."""
        offers, digest = self._offers(), sha256.lower()
        if offers is None:
            raise BmcRefusal("image-unverified", "this site agent has no [boot] url")
        if not is_digest(digest):
            raise BmcRefusal("image-unverified", "sha256: want 64 hexadecimal digits")
        bringing = Deferred.fromCoroutine(offers.offer(CacheImage(digest, url)))
        try:
            return await bringing.addTimeout(seconds, self._clock)
        except Unverified as e:
            raise BmcRefusal("image-unverified", str(e)) from None
        except DeferredTimeout:
            raise BmcRefusal("image-unverified", f"not here after {seconds:g} s") from None


@frozen
class Timed:
    """A driver that is ended when it does not end by itself."""

    _clock: IReactorTime
    _driver: Driver
    _ended: Callable[[], None]

    async def run(self, asked: Asked) -> dict[str, object]:
        running = Deferred.fromCoroutine(self._driver.run(asked))
        try:
            return await running.addTimeout(asked.seconds + GRACE, self._clock)
        except DeferredTimeout:
            raise BmcRefusal("timeout") from None
        finally:
            self._ended()


class _Ways:
    """Satisfies :class:`rescriptum.bmc.kinds.Ways`."""

    def __init__(self, reactor: Reactor, workers: Workers, known: KnownHosts) -> None:
        self._reactor = reactor
        self._workers = workers
        self._known = known
        self._queues = Queues(reactor)
        self._profiles = Profiles()
        self.hosted: Mapping[str, HostedProgram] = {}

    def driver(self, request: BmcOperationRequest, operation: Operation) -> Driver:
        """:raises BmcRefusal: ``unsupported-driver``, ``invalid-config``."""
        if request.driver in ("", BUILT_IN):
            return self._redfish(request)
        program = self.hosted.get(request.driver)
        if program is None:
            raise BmcRefusal("unsupported-driver", f"{request.driver} is not hosted here")
        if not program.manifest.does(operation):
            text = f"{request.driver} does not do {operation.concern}"
            raise BmcRefusal("unsupported-driver", text)
        run = partial(self._run, program)
        made = HostedDriver(request.driver, request.address, request.pin, request.options, run)
        return Timed(self._reactor, made, lambda: None)

    def _redfish(self, request: BmcOperationRequest) -> Driver:
        if request.options:
            raise BmcRefusal("invalid-config", "options: the built-in driver has none")
        try:
            url = DecodedURL.from_text(f"https://{authority(request.address)}")
            # Without a pin, an authority that this host trusts has to vouch for the BMC.
            trust = Trust.by_pin(request.pin) if request.pin else Trust.by_authority()
        except ValueError as e:
            raise BmcRefusal("invalid-config", f"address or pin: {e}"[:200]) from None
        known = self._profiles.of(request.address)
        made = RedfishDriver(self._reactor, url, trust, profile=known)

        def learnt() -> None:
            self._profiles.keep(request.address, made.profile)

        return Timed(self._reactor, made, learnt)

    async def _run(
        self,
        program: HostedProgram,
        stdin: bytes,
        seconds: float,
        most: int,
        heard: Callable[[bytes], None],
    ) -> Ended:
        try:
            await self._workers.run(partial(hosted.check, program))
        except Refused as e:
            raise BmcRefusal("unsupported-driver", f"{program.path.name}: {e}") from None
        environ = {"PATH": os.environ.get("PATH", os.defpath)}
        return await ran(self._reactor, Program(program.path, environ), stdin, seconds, most, heard)

    async def remember(self, address: str) -> None:
        """A BMC is about to be asked there."""
        await self._known.remember(address)

    async def run(
        self, address: str, work: Callable[[], Awaitable[dict[str, object]]]
    ) -> dict[str, object]:
        """Do ``work`` when the BMC has rested."""
        return await self._queues.run(address, work)


class BmcService(Service):
    """Knows the hosted drivers, and the BMCs that were spoken to, before anything is run."""

    name = "bmc"
    _log = Logger()

    def __init__(
        self,
        config: SiteConfig,
        reactor: Reactor,
        workers: Workers,
        offers: Callable[[], Offers | None],
    ) -> None:
        """
        :param reactor: also one that connects, and looks names up in its threads.
        :param workers: one thread, for the data directory.
        :param offers: of a boot server with a cache; None: there is none.
        """
        self._directory = config.drivers_dir
        resolver = IReactorPluggableNameResolver(reactor).nameResolver
        self._names = ProxyClient(reactor, resolver)
        # The agent holds the directory's lock for as long as anything is written.
        data = DataDirectory(config.agent.data_dir)
        self._known = KnownHosts(data, workers, self._resolve, time.time)
        self._ways = _Ways(reactor, workers, self._known)
        self._kinds = kinds(self._ways, _Firmware(reactor, offers))

    def startService(self) -> None:
        """:raises Unavailable: when it is not known which hosts are BMCs."""
        super().startService()
        self._known.open()
        if self._directory is None:
            return
        found = hosted.read(self._directory)
        self._ways.hosted = found.drivers
        for each in found.problems:
            self._log.error("A driver is left out: {problem}", problem=str(each))
        if found.drivers:
            names = ", ".join(sorted(found.drivers))
            self._log.info("Drivers of BMCs that are hosted here: {names}", names=names)

    def character(self, own: Character) -> Character:
        """:returns: ``own``, which asks BMCs as well."""
        return evolve(own, kinds=(*own.kinds, *self._kinds), drivers=self.drivers)

    def drivers(self) -> Sequence[JSON]:
        """:returns: the manifests that Hello carries."""
        return [each.manifest.plain() for each in self._ways.hosted.values()]

    def known(self) -> Collection[str]:
        """:returns: names and addresses of BMCs that were spoken to."""
        return self._known.known()

    async def _resolve(self, host: str) -> Collection[str]:
        try:
            return await self._names.resolve(host)
        except Unavailable:
            return ()
