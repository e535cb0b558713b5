"""From a controller of the operator's file to what asks it."""

import os
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from twisted.internet.task import LoopingCall

from ...bmc.driver import Asked, Credential, Driver
from ...bmc.ipmi.client import IpmiTool
from ...bmc.ipmi.driver import IpmiDriver
from ...bmc.queue import Queues
from ...bmc.redfish.driver import RedfishDriver
from ...bmc.redfish.quirks import QuirkProfile
from ...bmc.trust import Trust
from ...contract.bmc import OPERATIONS, BmcRefusal, Nothing
from ...net.processes import Reactor
from ...power.controllers import Commands, Controlled, Controller, Ipmi, Redfish, Wake
from .programs import ProgramDriver
from .wake import WakeDriver

_T = TypeVar("_T")

#: Seconds between two words that something still goes on.
WORD: Final = 10.0


def trust_of(controller: Redfish) -> Trust:
    """:returns: the one choice that the file makes."""
    if controller.pin is not None:
        trust = Trust.by_pin(controller.pin.text)
    elif controller.authority is not None:
        trust = Trust.by_authority(controller.authority)
    else:
        trust = Trust.of_anybody()
    return trust.with_legacy_tls() if controller.legacy_tls else trust


def credential_of(controller: Controller) -> Credential | None:
    if isinstance(controller, Redfish | Ipmi):
        return Credential(controller.username, controller.password)
    return None


class Ways:
    """To all controllers, for as long as one command runs."""

    def __init__(self, reactor: Reactor, waiting: Callable[[str], None]) -> None:
        """:param waiting: told a line now and then while something goes on."""
        self._reactor = reactor
        self._queues = Queues(reactor)
        self._waiting = waiting
        self._drivers: dict[str, Driver] = {}

    async def ask(
        self, machine: Controlled, name: str, args: object = Nothing()
    ) -> dict[str, object]:
        """
        Ask once; nothing is ever asked again by itself.

        :param name: of the operation. :returns: its data.
        :raises BmcRefusal: ``timeout`` when nobody knows whether it was done.
        """
        controller = machine.controller
        seconds = 10.0 if isinstance(controller, Wake) else float(controller.timeout)
        asked = Asked(OPERATIONS[name], args, credential_of(controller), seconds=seconds)
        return await self._turn(machine, lambda: self._driver(machine).run(asked))

    async def probe(self, machine: Controlled) -> QuirkProfile:
        """:raises BmcRefusal: also for what is no Redfish."""
        controller = machine.controller
        if not isinstance(controller, Redfish):
            text = f"there is nothing to find out of {controller.kind}"
            raise BmcRefusal("unsupported-operation", text)
        driver, credential = self._redfish(controller), credential_of(controller)
        return await self._turn(machine, lambda: driver.probe(credential, controller.timeout))

    async def _turn(self, machine: Controlled, work: Callable[[], Awaitable[_T]]) -> _T:
        """One at a time on a BMC, and some rest between (W249); a program needs none."""
        address = machine.controller.address
        begun = self._reactor.seconds()

        def word() -> None:
            passed = self._reactor.seconds() - begun
            self._waiting(f"{machine.name}: {passed:.0f} s, still at it: {machine.controller}")

        telling = LoopingCall(word)
        telling.clock = self._reactor
        ended = telling.start(WORD, now=False)
        try:
            return await (self._queues.run(address, work) if address else work())
        finally:
            telling.stop()
            await ended

    def _driver(self, machine: Controlled) -> Driver:
        """:returns: the same one for a machine each time: it has learnt how its BMC goes about."""
        if machine.name not in self._drivers:
            self._drivers[machine.name] = self._made(machine)
        return self._drivers[machine.name]

    def _made(self, machine: Controlled) -> Driver:
        controller = machine.controller
        match controller:
            case Redfish():
                return self._redfish(controller)
            case Ipmi():
                tool = IpmiTool(self._reactor, os.environ.get("PATH", os.defpath))
                return IpmiDriver(controller.address, tool, options=controller.options)
            case Commands():
                return ProgramDriver(self._reactor, machine, controller, os.environ)
            case Wake():
                return WakeDriver(controller)

    def _redfish(self, controller: Redfish) -> RedfishDriver:
        trust = trust_of(controller)
        return RedfishDriver(self._reactor, controller.url, trust, system=controller.system)
