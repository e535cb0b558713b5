"""What a machine is given to join by: its token, and this agent's word that it saw it boot."""

from collections.abc import Awaitable
from typing import Final, Protocol

from ..boot.entries import BootEntry
from ..contract.joining import Assertion, Keys
from ..contract.jose import digest, sign
from ..contract.keys import Key
from ..contract.refusals import Rejected
from ..contract.sessions import SecretRequest
from ..contract.structure import plain
from ..errors import Unavailable
from ..values import Secret
from .asking import Asking

#: Seconds that an assertion lasts, at the most: a ramdisk joins as soon as it runs.
LASTING: Final = 900


class Vouching(Protocol):
    """
    The agent, as far as booting machines need it.

    :ivar site: that it is of. :ivar key: of its node; None: it has not joined yet.
    """

    @property
    def site(self) -> str: ...

    @property
    def key(self) -> Key | None: ...

    def now(self) -> int:
        """:returns: the trusted time, in Unix seconds."""

    def kept_secret(self, request: SecretRequest) -> Awaitable[Secret]:
        """
        The same as before, if it was asked for under this epoch before.

        :raises Rejected: when the gateway refuses it.
        :raises Unavailable: when there is no session.
        """

    def join_keys(self) -> Awaitable[Keys]:
        """
        :returns: those of the gateway, as it serves them.
        :raises Unavailable: when it does not answer.
        """


def request(entry: BootEntry, epoch: int) -> SecretRequest:
    """
    :param epoch: of the boot lease, that the token is bound to.
    :raises Rejected: ``secret-refused`` for an entry that no command of a workflow has made.
    """
    try:
        return SecretRequest(entry.token_ref, entry.workflow, entry.step, entry.command, epoch)
    except ValueError as e:
        raise Rejected("secret-refused", f"boot entry of {entry.mac}: {e}") from None


def assertion(vouching: Vouching, entry: BootEntry, asking: Asking, token: str, epoch: int) -> str:
    """
    :returns: signed, and made anew each time.
    :raises Unavailable: before this agent has joined.
    """
    if vouching.key is None:
        raise Unavailable("this agent has not joined yet")
    now = vouching.now()
    said = Assertion(
        mac=str(entry.mac),
        ip=asking.ip,
        uuid=asking.uuid or entry.uuid,
        site=vouching.site,
        token_digest=digest(token.encode()),
        epoch=epoch,
        issued_at=now,
        not_after=min(now + LASTING, entry.not_after or now + LASTING),
    )
    return sign("discovery", plain(said), vouching.key)
