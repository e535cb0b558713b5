"""How a transfer ended, as the event that says so."""

from typing import Any

from ..boot.events import Event, LoaderFailed, LoaderProbed, LoaderSent, LoaderStopped
from .options import described
from .transfer import Ending, Outcome, Transfer
from .wire import ReadRequest


def ended(
    peer: tuple[str, int],
    loader: str,
    request: ReadRequest,
    transfer: Transfer,
    outcome: Outcome,
    seconds: float,
) -> Event:
    """:param seconds: since the request."""
    about: dict[str, Any] = {
        "peer": peer,
        "loader": loader,
        "size": transfer.size,
        "sent": transfer.bytes_acked,
        "blksize": transfer.terms.blksize,
        "windowsize": transfer.terms.windowsize,
        "retransmits": transfer.retransmits,
        "seconds": seconds,
        "outcome": outcome.ending.value,
    }
    if outcome.ending in (Ending.SENT, Ending.UNCONFIRMED):
        return LoaderSent(**about)
    if outcome.ending is Ending.PROBED:
        return LoaderProbed(**about)
    if outcome.ending is Ending.STOPPED:
        return LoaderStopped(**about, reason=outcome.reason)
    reason = outcome.reason
    if not transfer.acked and request.options:
        reason += (
            f" (asked {described(request.options)}; given {described(transfer.terms.granted)})"
        )
    return LoaderFailed(**about, reason=reason)
