"""Secrets of the gateway: asked for when they are needed, and in memory only."""

from collections.abc import Awaitable, Callable
from typing import Final

from ..contract.commands import Command
from ..contract.sessions import SecretAnswer, SecretRequest
from ..values import Secret

#: Secrets that are kept: discovery tokens, of machines that have a boot entry.
KEPT: Final = 1024


class Credentials:
    """
    Nothing of it is ever logged, written to the journal, or shown by ``repr``.

    A secret of an epoch of the boot lease is forgotten with it: a stale agent hands out no token.
    """

    def __init__(self, ask: Callable[[SecretRequest], Awaitable[SecretAnswer]]) -> None:
        """:param ask: the gateway, in the session that there is."""
        self._ask = ask
        self._epoch = 0
        self._kept: dict[tuple[str, int], Secret] = {}

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    async def of_command(self, command: Command, ref: str, epoch: int = 0) -> Secret:
        """
        Ask anew, each time.

        :param epoch: that the secret is bound to; 0: to none.
        :raises Rejected: ``secret-refused`` or ``stale-epoch``.
        :raises Unavailable: when there is no session.
        """
        request = SecretRequest(ref, command.workflow, command.step, command.command_id, epoch)
        return Secret((await self._ask(request)).value)

    async def kept(self, request: SecretRequest) -> Secret:
        """
        The same as before, if it was asked for before under this epoch: a token is fetched once
        for each reference.

        :raises Rejected: and ``Unavailable``, as above.
        """
        about = request.ref, request.epoch
        secret = self._kept.get(about)
        if secret is None:
            secret = Secret((await self._ask(request)).value)
            if request.epoch == self._epoch:  # still, after the answer
                self._kept[about] = secret
                if len(self._kept) > KEPT:
                    del self._kept[next(iter(self._kept))]
        return secret

    def serve(self, epoch: int) -> None:
        """:param epoch: of the boot lease from now on; secrets of every other are forgotten."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._kept.clear()
