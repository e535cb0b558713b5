"""``rescriptum gateway watch``: how far a workflow has come, as it goes on."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred, succeed

from ...errors import Unavailable, Unverified
from .asking import Asked
from .client import Gateway, Told
from .screen import Screen, word

Fields = Mapping[str, Any]

#: Seconds between two attempts to follow.
AGAIN: Final = 2.0
_OVER: Final = ("done", "failed", "cancelled")
_MARKS: Final = {"done": "+", "failed": "!", "skipped": "-", "running": ">", "waiting": " "}


class Watched(Protocol):
    """Who shows how far a workflow has come."""

    def show(self, workflow: Fields) -> None:
        """Called whenever something may have changed."""


class _Lines:
    """A line for each step whenever its state or reason changes: for logs and pipes."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._said: dict[int, str] = {}

    def show(self, workflow: Fields) -> None:
        for step in workflow["steps"]:
            line = describe(step, with_progress=False)
            if step["state"] != "waiting" and self._said.get(step["number"]) != line:
                self._said[step["number"]] = line
                self._screen.said(line)
                self._screen.out.flush()


class _Documents:
    """The whole workflow as a line of JSON, whenever it has changed."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._last: Fields = {}

    def show(self, workflow: Fields) -> None:
        if workflow != self._last:
            self._last = workflow
            self._screen.out.write(json.dumps(workflow) + "\n")
            self._screen.out.flush()


class WatchOptions(Asked):
    """``watch``."""

    synopsis = "Usage: rescriptum gateway watch ID"
    longdesc = (
        "Follows a workflow to its end: step by step on a terminal, a line a change elsewhere, a "
        "JSON document a change with --json. Exit code 0: it is done; 1: it failed, or was "
        "cancelled."
    )
    takes = ("ID",)

    async def ask(self, gateway: Gateway, screen: Screen) -> int:
        return await follow(gateway, screen, self.words[0])


async def follow(gateway: Gateway, screen: Screen, workflow: str) -> int:
    """
    :returns: the exit code: 0 when the workflow is done.
    :raises Told: for one that is none.
    """
    with shown(screen) as watched:
        last = await _to_the_end(gateway, watched, workflow)
    reason = f": {last['reason']}" if last["reason"] else ""
    screen.said(f"{workflow} is {last['state']}{reason}")
    return 0 if last["state"] == "done" else 1


class _Bell:
    """Rung whenever somebody says something; no ring is missed while nobody listens."""

    def __init__(self) -> None:
        self._rung = False
        self._waiting: Deferred[None] | None = None

    def ring(self, _: object = None) -> None:
        self._rung = True
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(None)

    def next(self) -> "Deferred[None]":
        """:returns: fires at the next ring: at once, if it rang since this was last called."""
        if self._rung:
            self._rung = False
            return succeed(None)
        self._waiting = Deferred()
        return self._waiting.addCallback(lambda _: setattr(self, "_rung", False))


async def _to_the_end(gateway: Gateway, watched: Watched, workflow: str) -> Fields:
    """Whenever a message comes the workflow is read again; and now and then anyway."""
    while True:
        bell = _Bell()
        following = Deferred.fromCoroutine(gateway.follow(bell.ring, subject=workflow))
        following.addErrback(lambda _: None)  # cancelled: nobody wants to know any more
        try:
            while not following.called:
                found = await gateway.get("workflows", workflow)
                watched.show(found)
                if found["state"] in _OVER:
                    return found
                await gateway.first(bell.next(), following)
        except Unavailable:
            pass  # it may be restarting: what was seen stands
        finally:
            ended = following.result if following.called else None
            following.cancel()
        if isinstance(ended, (Told, Unverified)):
            raise ended
        await gateway.sleep(AGAIN)


@contextmanager
def shown(screen: Screen) -> Iterator[Watched]:
    """:returns: what suits whoever looks on."""
    if screen.as_json:
        yield _Documents(screen)
    elif not screen.out.isatty():
        yield _Lines(screen)
    else:
        with _live(screen) as live:
            yield live


@contextmanager
def _live(screen: Screen) -> Iterator[Watched]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=screen.out, no_color=screen.plain, highlight=False)
    with Live(console=console, auto_refresh=False) as live:

        class Terminal:
            """All steps, in place."""

            def show(self, workflow: Fields) -> None:
                head = f"{workflow['kind']} {workflow.get('machine', '')} ({workflow['id']})"
                lines = [head, *(describe(each) for each in workflow["steps"])]
                live.update(Text("\n".join(lines)), refresh=True)

        yield Terminal()


def describe(step: Fields, with_progress: bool = True) -> str:
    """:returns: a step, on a line."""
    line = f"{_MARKS.get(step['state'], '?')} {step['name']:<22} {step['state']}"
    if step["reason"]:
        line += f": {word(step['reason'])}"
    progress = step.get("progress")
    if with_progress and progress and step["state"] == "running":
        line += f"  {_progress(progress)}"
    return line


def _progress(data: Fields) -> str:
    amount, total = data.get("done"), data.get("total")
    if not (isinstance(amount, int) and isinstance(total, int) and total > 0):
        return word(data)
    width = min(20, 20 * amount // total)
    parts = [f"[{'#' * width:<20}] {100 * amount // total} %"]
    rate, left = data.get("bytes_per_s"), data.get("seconds_left")
    if isinstance(rate, int) and rate > 0:
        parts.append(f"{rate / 1e6:.1f} MB/s")
    if isinstance(left, int) and left > 0:
        parts.append(f"{left // 60}:{left % 60:02} left")
    number, count = data.get("number"), data.get("disks")
    if isinstance(number, int) and isinstance(count, int) and count > 1:
        parts.append(f"disk {number} of {count}")
    return ", ".join(parts)
