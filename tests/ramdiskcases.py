"""What tests of a ramdisk share: tools that write down what they were asked, and a context."""

import hashlib
from collections.abc import Callable

from attrs import define, field
from twisted.internet.task import Clock

from rescriptum.contract.commands import Command
from rescriptum.contract.structure import JSON
from rescriptum.ramdisk.tools import Ran
from rescriptum.values import Secret


@define
class MemoryTools:
    """
    Satisfies :class:`rescriptum.ramdisk.tools.Tools`.

    :ivar answers: what programs say, by the beginning of what they were asked; else they say
        nothing, and that all is well.
    :ivar asked: in order.
    """

    answers: dict[tuple[str, ...], Ran | Callable[[], Ran]] = field(factory=dict)
    asked: list[tuple[str, ...]] = field(factory=list)

    async def run(self, *argv: str, stdin: bytes = b"", seconds: float = 60) -> Ran:
        self.asked.append(argv)
        for beginning, answer in self.answers.items():
            if argv[: len(beginning)] == beginning:
                return answer() if callable(answer) else answer
        return Ran(argv, 0)


@define
class MemoryRunning:
    """Satisfies :class:`rescriptum.ramdisk.command.Running`."""

    kind: str
    clock: Clock = field(factory=Clock)
    secrets: dict[str, str] = field(factory=dict)
    said: list[JSON] = field(factory=list)
    cancelled: bool = False

    @property
    def command(self) -> Command:
        return Command("c1", "n1", self.kind, {}, "w1", self.kind, 0, 2**31)

    async def secret(self, ref: str) -> Secret:
        return Secret(self.secrets[ref])

    def seconds(self) -> float:
        return self.clock.seconds()

    def progress(self, data: JSON) -> None:
        self.said.append(data)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
