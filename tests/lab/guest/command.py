"""``disk.wipe`` as the ramdisk's agent has it, and what it would tell the gateway."""

import time
from collections.abc import Callable
from pathlib import Path

from hyperlink import DecodedURL

from rescriptum.agent.booted import Booted
from rescriptum.agent.character import Character
from rescriptum.agent.config import AgentConfig
from rescriptum.agent.kinds import AnyKind, Context
from rescriptum.contract.commands import Command
from rescriptum.contract.joining import Role
from rescriptum.contract.ramdisk import Wipe, WipeMode
from rescriptum.contract.refusals import Incomplete, Rejected
from rescriptum.contract.structure import JSON
from rescriptum.roles.machine import Machine, RamdiskReactor
from rescriptum.values import Secret


class Agent:
    """What the rest of an agent is to a command that runs."""

    def __init__(self, heard: Callable[[JSON], None]) -> None:
        self._heard = heard
        self._looks = 0

    def epoch(self) -> int:
        return 0

    async def secret(self, command: Command, ref: str, epoch: int) -> Secret:
        raise Rejected("secret-refused")

    def progressed(self, command_id: str, data: JSON) -> None:
        self._heard(data)

    def finished(self) -> None:
        """Nobody waits for it."""

    def monotonic(self) -> float:
        # A second later at each look: nothing that is said is left out for coming too soon.
        self._looks += 1
        return self._looks + time.monotonic()


class Wiper:
    """Asks for wipes, one after the other."""

    def __init__(self, kind: AnyKind) -> None:
        self._kind = kind

    async def wiped(self, mode: WipeMode, *disks: str, stop: bool = False) -> JSON:
        """
        :param disks: as the kernel calls them. :param stop: when some of it is zeros, and some not.
        :returns: what the gateway gets.
        """

        def heard(data: JSON) -> None:
            done, total = data.get("done"), data.get("total")
            if stop and isinstance(done, int) and isinstance(total, int) and 0 < done < total:
                context.cancelled = True

        command = Command("c1", "n1", self._kind.name, {}, "w1", "wipe", 0, 2**31)
        context = Context(command, Agent(heard))
        code = detail = ""
        data: JSON = {}
        try:
            data = await self._kind.run(context, Wipe(mode, disks))
        except Incomplete as e:
            code, detail, data = e.code, e.detail, e.data
        except Rejected as e:
            code, detail = e.code, e.detail
        return {"code": code, "detail": detail, **data}


def wiper(reactor: RamdiskReactor) -> Wiper:
    """:returns: by the composition of the role: the tools, the disks and the threads it has."""
    gateway = DecodedURL.from_text("https://gateway.example")
    config = AgentConfig(gateway, gateway.host, "lab", Path("/run/rescriptum"))
    machine = Machine(Booted(config, "", "", b"", "", None), reactor, Path("/"))
    for each in machine.pools:
        each.start()
        reactor.addSystemEventTrigger("after", "shutdown", each.stop)

    async def told() -> bool:
        return True

    own = Character(Role.RAMDISK, (), lambda lease: [])
    [kind] = [each for each in machine.character(own, told).kinds if each.name == "disk.wipe"]
    return Wiper(kind)
