"""The media listener's own paths: the catalogue, images, kernels, initrds, files inside images."""

import json
import re
from collections.abc import Awaitable

from twisted.logger import Logger

from ..boot.events import MediumRefused, record
from ..errors import NotFound, Unavailable
from ..values import MAC, Content
from ..web.reply import FileReply, Finished, Reply
from ..web.request import Request
from ..web.routing import Answer, Routes
from .catalogue import Catalogue, Medium, Part
from .files import shown
from .listing import as_json, as_text
from .store import MediaStore
from .tally import Served, Tally

MAX_SHOWN = 256
MAX_REASON = 512

_RANGE = re.compile(r"bytes=(?:[0-9]+-[0-9]*|-[0-9]+)(?:,.*)?", re.ASCII)


class MediaTree:
    """
    Everything under ``/<id>/``.

    A reply is made without waiting wherever the catalogue is fresh and the file is known.
    """

    routes = Routes()
    _log = Logger()

    def __init__(self, store: MediaStore) -> None:
        self._store = store
        self._tally = Tally()
        # The last refusal of each connection: a client that insists is one line.
        self._refused: dict[tuple[str, int], tuple[str, int]] = {}

    @routes.get("/")
    async def catalogue(self, request: Request) -> Reply:
        """The catalogue, as JSON for whoever accepts that."""
        catalogue = await self._store.catalogue()
        if "application/json" in (request.header("accept") or ""):
            body = json.dumps(as_json(catalogue), ensure_ascii=False, indent=1) + "\n"
            return Reply(body.encode("utf-8"), "application/json")
        return Reply(as_text(catalogue).encode("utf-8"))

    @routes.get("/<id>/iso")
    def iso(self, request: Request, name: str) -> Answer | Awaitable[Answer]:
        """The whole image."""
        return self._part(request, name, Part.IMAGE, "iso")

    @routes.get("/<id>/img")
    def img(self, request: Request, name: str) -> Answer | Awaitable[Answer]:
        """The whole image."""
        return self._part(request, name, Part.IMAGE, "iso")

    @routes.get("/<id>/<file>")
    def named(self, request: Request, name: str, file: str) -> Answer | Awaitable[Answer]:
        """The whole image by a name that ends in ``.iso``: casper and firmware look at that."""
        if file.lower() not in (f"{name}.iso".lower(), f"{name}.img".lower()):
            raise NotFound(f"{file!r} is no part of an image")
        return self._part(request, name, Part.IMAGE, "iso")

    @routes.get("/<id>/kernel")
    def kernel(self, request: Request, name: str) -> Answer | Awaitable[Answer]:
        """The kernel, where the image has one that works over the network."""
        return self._part(request, name, Part.KERNEL, "kernel")

    @routes.get("/<id>/initrd")
    def initrd(self, request: Request, name: str) -> Answer | Awaitable[Answer]:
        """The initrd that goes with the kernel."""
        return self._part(request, name, Part.INITRD, "initrd")

    @routes.get("/<id>/file/<path...>")
    def file(self, request: Request, name: str, path: str) -> Answer | Awaitable[Answer]:
        """A file inside the image or the tree, by its path, without regard to case."""
        catalogue = self._store.at_once()
        if catalogue is not None and name in catalogue:
            medium = _medium(catalogue, name)
            content = self._store.remembered(medium, path)
            if content is not None:
                return _reply(request, medium, content, Part.FILE, f"file/{path}")
        return self._find(request, name, path)

    async def _find(self, request: Request, name: str, path: str) -> Answer:
        medium = _medium(await self._store.looked_into(name), name)
        content = await self._store.file(medium, path)
        return _reply(request, medium, content, Part.FILE, f"file/{path}")

    def _part(
        self, request: Request, name: str, part: Part, path: str
    ) -> Answer | Awaitable[Answer]:
        catalogue = self._store.at_once()
        if catalogue is None or name not in catalogue:
            return self._part_later(request, name, part, path)
        return _part(request, _medium(catalogue, name), part, path)

    async def _part_later(self, request: Request, name: str, part: Part, path: str) -> Answer:
        return _part(request, _medium(await self._store.looked_into(name), name), part, path)

    def finished(self, done: Finished) -> None:
        """One exchange is over."""
        request, served = done.request, done.about
        if done.status >= 400 or done.status == 0 or request is None:
            self._tell_refusal(done)
        elif isinstance(served, Served) and request.method != "HEAD":
            for event in self._tally.add(
                served,
                done.peer,
                done.status,
                done.size,
                done.sent,
                done.seconds,
                done.outcome.value,
            ):
                record(self._log, event)

    def _tell_refusal(self, done: Finished) -> None:
        method = done.request.method[:MAX_SHOWN] if done.request is not None else "-"
        target = done.request.target[:MAX_SHOWN] if done.request is not None else "-"
        if self._refused.get(done.peer) == (target, done.status):
            return
        self._refused[done.peer] = target, done.status
        reason = done.reason[:MAX_REASON]
        if done.status == 416 and done.request is not None:
            asked = done.request.header("range") or ""
            reason = f"range {asked[:MAX_SHOWN]!r} of {done.size} bytes"
            if not _RANGE.fullmatch(asked):
                reason += ": this build of the loader writes no numbers; use another"  # W164
        record(
            self._log,
            MediumRefused(
                peer=done.peer, method=method, target=target, status=done.status, reason=reason
            ),
        )

    def closed(self, peer: tuple[str, int]) -> None:
        """A connection is gone: what was counted for it is told."""
        self._refused.pop(peer, None)
        for event in self._tally.closed(peer):
            record(self._log, event)


def _medium(catalogue: Catalogue, name: str) -> Medium:
    medium = catalogue.find(name)
    if medium is not None:
        return medium
    if name in catalogue.pending:
        raise Unavailable(f"{name} was not looked into yet", retry_after=1)
    raise NotFound(f"no image {name[:MAX_SHOWN]!r}")


def _part(request: Request, medium: Medium, part: Part, path: str) -> FileReply:
    content = medium.content(part)
    if content is None:
        why = "; ".join(medium.notes) or f"nothing in it is known to be bootable ({medium.family})"
        raise NotFound(f"{medium.id} has no {path}: {why}")
    return _reply(request, medium, content, part, path)


def _reply(request: Request, medium: Medium, content: Content, part: Part, path: str) -> FileReply:
    served = Served(medium.id, part, shown(path[:MAX_SHOWN]), _mac(request))
    return FileReply(content, about=served, steady=True)


def _mac(request: Request) -> MAC | None:
    if "?" not in request.target:
        return None
    text = next((value for name, value in request.query if name == "mac"), "")
    try:
        return MAC.parse(text)
    except ValueError:
        return None
