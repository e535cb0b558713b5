"""The loaders over HTTP: for UEFI HTTP boot, and wherever TFTP is off."""

from typing import TypedDict

from attrs import frozen
from twisted.logger import Logger

from ..interfaces import Loaders
from ..values import Content
from ..web.reply import FileReply, Finished, Outcome, Reply
from ..web.request import Request
from ..web.routing import Routes
from .events import (
    LoaderAsked,
    LoaderFailed,
    LoaderProbed,
    LoaderRefused,
    LoaderSent,
    LoaderStopped,
    record,
)

_VIA = "http"
_MAX_SHOWN = 128
_CODES = {403: "forbidden", 404: "not-found", 405: "method", 412: "precondition", 416: "range"}
_REASONS = {
    Outcome.STOPPED: "the connection ended",
    Outcome.FAILED: "the file could not be read to its end",
    Outcome.TIMED_OUT: "its time was up",
}


@frozen
class _Ranges:
    """Pieces of one loader on one connection: a CD read by ``sanboot`` is thousands (W163)."""

    loader: str
    size: int
    sent: int
    seconds: float


class LoaderTree:
    """``/boot/…``: the files of the boot directory, by the names that TFTP finds them under."""

    routes = Routes()
    _log = Logger()

    def __init__(self, loaders: Loaders) -> None:
        self._loaders = loaders
        # One entry a connection at most, and gone with it.
        self._ranges: dict[tuple[str, int], _Ranges] = {}

    @routes.get("boot/<name...>")
    def loader(self, request: Request, name: str) -> Reply | FileReply:
        """
        A loader, with ranges; or what is answered from memory in its place.

        :raises Refused: as ``interfaces.Loaders`` does.
        """
        found = self._loaders.find(name.encode("utf-8", "surrogateescape"))
        shown = _shown(name)
        asked = request.header("range")
        known = self._ranges.get(request.peer)
        if request.method == "GET" and not (asked and known and known.loader == shown):
            agent = _shown(request.header("user-agent") or "nobody by name")
            options = f"by {agent} range={_shown(asked)}" if asked else f"by {agent}"
            record(
                self._log,
                LoaderAsked(peer=request.peer, loader=shown, options=options, via=_VIA),
            )
        if isinstance(found, Content):
            return FileReply(found, about=shown)
        return Reply(found.data, found.media_type, about=shown)

    def finished(self, done: Finished) -> None:
        """One exchange is over."""
        if done.request is None or not done.status:
            return
        if done.status >= 400 or not isinstance(done.about, str):
            self._refused(done, done.request)
        elif done.request.method == "HEAD" or done.status == 304:
            # Firmware asks for the size so (W150).
            record(self._log, LoaderProbed(**_ended(done, done.about)))
        elif done.outcome is Outcome.SENT and done.status == 206:
            self._piece(done, done.about)
        elif done.outcome is Outcome.SENT:
            record(self._log, LoaderSent(**_ended(done, done.about)))
        else:
            stopped = done.outcome is Outcome.STOPPED
            kind = LoaderStopped if stopped else LoaderFailed
            reason = done.reason or _REASONS[done.outcome]
            record(self._log, kind(**_ended(done, done.about), reason=reason))

    def closed(self, peer: tuple[str, int]) -> None:
        """The connection is gone: the pieces that went over it are one event."""
        pieces = self._ranges.pop(peer, None)
        if pieces is not None:
            record(
                self._log,
                LoaderSent(
                    peer=peer,
                    loader=pieces.loader,
                    via=_VIA,
                    size=pieces.size,
                    sent=pieces.sent,
                    seconds=pieces.seconds,
                    outcome="ranges",
                ),
            )

    def _piece(self, done: Finished, loader: str) -> None:
        before = self._ranges.get(done.peer)
        if before is not None and before.loader != loader:
            self.closed(done.peer)
            before = None
        sent, seconds = (before.sent, before.seconds) if before is not None else (0, 0.0)
        self._ranges[done.peer] = _Ranges(
            loader, done.size, sent + done.sent, seconds + done.seconds
        )

    def _refused(self, done: Finished, request: Request) -> None:
        record(
            self._log,
            LoaderRefused(
                peer=done.peer,
                loader=_shown(request.path.removeprefix("/boot/")),
                via=_VIA,
                code=_CODES.get(done.status, f"status-{done.status}"),
                reason=_shown(done.reason),
            ),
        )


class _Ended(TypedDict):
    """What every end of a transfer has."""

    peer: tuple[str, int]
    loader: str
    via: str
    size: int
    sent: int
    seconds: float
    outcome: str


def _ended(done: Finished, loader: str) -> _Ended:
    return {
        "peer": done.peer,
        "loader": loader,
        "via": _VIA,
        "size": done.size,
        "sent": done.sent,
        "seconds": done.seconds,
        "outcome": done.outcome.value,
    }


def _shown(text: str) -> str:
    """:returns: what a log may carry of a stranger's words."""
    kept = "".join(letter if " " <= letter <= "~" else "?" for letter in text[:_MAX_SHOWN])
    return kept if len(text) <= _MAX_SHOWN else kept + "…"
