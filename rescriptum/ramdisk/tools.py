"""Programs of the ramdisk image that do what is not ours to do."""

from typing import Final, Protocol

from attrs import field, frozen

from ..errors import RescriptumError

#: Lines that tell nobody why: what dmsetup closes with, whatever it was.
_NOTHING: Final = ("", "Command failed.")
#: Characters of the line that does.
SAID: Final = 300


class ToolTrouble(RescriptumError):
    """
    A program that could not be run, or did not end in its time.

    :ivar code: ``failed``, or ``timeout``: then it is gone, and what it did is not known.
    """

    code = "failed"

    def __init__(self, message: str, code: str = "failed") -> None:
        super().__init__(message)
        self.code = code


@frozen
class Ran:
    """
    A program that has ended.

    :ivar argv: what was run. :ivar status: its exit code; negative: the signal that ended it.
    """

    argv: tuple[str, ...]
    status: int
    stdout: bytes = field(default=b"", repr=False)
    stderr: str = ""

    @property
    def ok(self) -> bool:
        return self.status == 0

    @property
    def said(self) -> str:
        """Its last line that says anything, or the beginning of it: why it failed, for people."""
        text = self.stderr or self.stdout.decode("utf-8", "replace")
        lines = [each for each in map(str.strip, text.splitlines()) if each not in _NOTHING]
        return f"{self.argv[0]}: {lines[-1][:SAID] if lines else f'exit code {self.status}'}"


class Tools(Protocol):
    """Runs programs, found on PATH, one by one."""

    async def run(self, *argv: str, stdin: bytes = b"", seconds: float = 60) -> Ran:
        """
        :param seconds: until it is ended with all that it has begun.
        :returns: once it has ended, whatever its exit code.
        :raises ToolTrouble: when there is no such program, or it did not end in time.
        """
