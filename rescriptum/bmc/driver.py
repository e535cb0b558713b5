"""What every driver is to whoever asks a BMC: one operation in, its data out."""

from collections.abc import Callable
from typing import Protocol

from attrs import field, frozen

from ..contract.bmc import Operation
from ..values import Secret


@frozen
class Credential:
    """Who asks a BMC. :ivar username: empty where the BMC knows no users, only a password."""

    username: str
    password: Secret = field(repr=False)


def quiet(data: dict[str, object]) -> None:
    """Of whoever does not want to know how far an operation has come."""


@frozen
class Asked:
    """
    One operation on one BMC.

    :ivar args: of ``operation.args``. :ivar credential: None: the BMC asks for none.
    :ivar replacement: the credential that is to hold, of a rotation.
    :ivar image_url: where a BMC fetches a firmware image that was verified.
    :ivar seconds: until nobody waits for it any more.
    :ivar progress: told now and then how far an operation has come that takes long; no secret.
    """

    operation: Operation
    args: object
    credential: Credential | None = None
    replacement: Credential | None = None
    image_url: str = ""
    seconds: float = 60
    progress: Callable[[dict[str, object]], None] = field(default=quiet, repr=False, eq=False)


class Driver(Protocol):
    """A way to one BMC."""

    async def run(self, asked: Asked) -> dict[str, object]:
        """
        :returns: the data of its outcome.
        :raises BmcRefusal: with the code of why not; ``timeout`` when nobody knows whether it was
            done. Cancelled, it leaves no session, process or connection behind.
        """
