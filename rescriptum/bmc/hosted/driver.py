"""A hosted driver, as whoever asks a BMC sees it: a process an operation."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from attrs import frozen
from twisted.logger import Logger

from ...contract.bmc import BmcRefusal
from ...contract.structure import JSON
from ...errors import RescriptumError
from ..driver import Asked
from .exchange import LONGEST_RESULT, data, mask, request
from .masking import Lines


class Finished(Protocol):
    """A process that is over; see :class:`rescriptum.net.processes.Ended`."""

    @property
    def status(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...


#: Runs the driver: what is on stdin, seconds, bytes on stdout, and who hears what is on stderr.
#: What it raises has a code of the table.
Run = Callable[[bytes, float, int, Callable[[bytes], None]], Awaitable[Finished]]

_log = Logger()


@frozen
class HostedDriver:
    """
    One BMC, asked by a driver of one id. Satisfies :class:`rescriptum.bmc.driver.Driver`.

    :ivar options: of the driver, as the machine's record has them.
    """

    id: str
    address: str
    pin: str
    options: JSON
    _run: Run

    async def run(self, asked: Asked) -> dict[str, object]:
        """
        :raises BmcRefusal: with the driver's own code; ``bad-response`` for what is no result,
            ``timeout`` when the driver had to be ended.
        """
        masked = mask(asked)
        lines = Lines(masked)
        given = request(asked, self.address, self.pin, self.options)
        try:
            ended = await self._run(
                given, asked.seconds, LONGEST_RESULT, lambda more: self._say(lines.feed(more))
            )
        except BmcRefusal:
            raise
        except RescriptumError as e:
            raise BmcRefusal(e.code, str(e)) from None
        finally:
            self._say(lines.end())
            if lines.dropped:
                _log.warn("{driver}: {n} more lines", driver=self.id, n=lines.dropped)
        if not ended.stdout.strip():
            raise BmcRefusal("bad-response", f"the driver {_how(ended.status)} without a result")
        return data(ended.stdout, masked)

    def _say(self, lines: list[str]) -> None:
        for each in lines:
            _log.info("{driver}: {line}", driver=self.id, line=each)


def _how(status: int) -> str:
    return f"exited with {status}" if status >= 0 else f"was ended by signal {-status}"
