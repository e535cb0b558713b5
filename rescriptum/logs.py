"""
Log lines for people and JSON lines for machines, out of the same events.

A line is ``TIME PEER TEXT``: UTC to the second, the machine's address and port or ``-``, the
event's sentence.
"""

import sys
from datetime import UTC, datetime
from functools import lru_cache
from io import TextIOWrapper
from json import dumps
from pathlib import Path
from typing import TextIO

from twisted.logger import FileLogObserver, ILogObserver, LogEvent, LogLevel, formatEvent
from zope.interface import implementer

from .errors import ConfigError
from .values import Problem

#: Namespaces whose chatter at info level says nothing about a machine.
_QUIET = ("twisted.", "log_legacy")
#: What ``RESCRIPTUM_LOG_FILE`` calls the process's own streams.
STREAMS = ("stderr", "stdout")
_LOUD = (LogLevel.warn, LogLevel.error, LogLevel.critical)


@lru_cache(maxsize=2)
def _stamp(second: int) -> str:
    """A rack that powers on makes many lines in one second: its time is written once."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _sentence(event: LogEvent) -> str:
    if "event" in event:  # one of ours: plain fields, which Twisted's formatter takes ten times for
        return str(event["log_format"].format_map(event))
    return formatEvent(event)


def text_line(event: LogEvent) -> str | None:
    """:returns: the operator's line of ``event``; None for one that says nothing."""
    text = _printable(_sentence(event))
    failure = event.get("log_failure")
    if failure is not None:
        text = f"{text}\n{failure.getTraceback()}"
    if not text:
        return None
    peer = event.get("peer")
    where = "-"
    if isinstance(peer, tuple):
        host, port = peer[:2]
        where = f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    level = event["log_level"]
    mark = f"{level.name}: " if level in _LOUD else ""
    return f"{_stamp(int(event['log_time']))} {where} {mark}{text}\n"


def _printable(text: str) -> str:
    """A stranger's bytes are in the text: none of them moves a cursor or begins a line."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)


@implementer(ILogObserver)
class Lines:
    """
    Writes the operator's lines.

    :ivar show: ``all``, or ``problems``: what went wrong, and the server's own lines.
    :ivar on_stderr: whether who starts the server sees them.
    """

    def __init__(self, out: TextIO, show: str) -> None:
        self._out = out
        self._problems_only = show == "problems"
        self.on_stderr = out is sys.stderr

    def __call__(self, event: LogEvent) -> None:
        if self._wanted(event):
            line = text_line(event)
            if line is not None:
                self._out.write(line)

    def _wanted(self, event: LogEvent) -> bool:
        level = event["log_level"]
        if level in _LOUD:
            return True
        if level is LogLevel.debug:
            return False
        if "event" in event:  # one of ours, of which a rack makes thousands a second
            return not self._problems_only or bool(event.get("problem"))
        return not str(event.get("log_namespace")).startswith(_QUIET)


@implementer(ILogObserver)
class Silence:
    """Drops everything: ``RESCRIPTUM_LOG=off``."""

    def __call__(self, event: LogEvent) -> None:
        pass


def opened(file: str) -> TextIO:
    """
    :param file: ``stderr``, ``stdout`` or a path; parents are made, lines are appended.
    :raises ConfigError: when it cannot be opened.
    """
    if file in STREAMS:
        stream: TextIO = getattr(sys, file)
        if isinstance(stream, TextIOWrapper):
            # A supervisor's pipe is no terminal: without this it hears of a line much later.
            stream.reconfigure(line_buffering=True, errors="backslashreplace")
        return stream
    path = Path(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
    except OSError as e:
        problem = Problem("RESCRIPTUM_LOG_FILE", f"cannot open {file}: {e.strerror}")
        raise ConfigError([problem]) from e


def observer(show: str, file: str) -> ILogObserver:
    """
    :param show: ``all``, ``problems`` (what went wrong, and the server's own lines) or ``off``.
    :raises ConfigError: when ``file`` cannot be opened.
    """
    if show == "off":
        return Silence()
    return Lines(opened(file), show)


def json_line(event: LogEvent) -> str | None:
    """
    :returns: ``event`` with all its fields, as one line of JSON; None: it tells nobody anything:
        Twisted speaks of a factory for every request that a client makes.
    """
    if "factory" in event and str(event.get("log_namespace")).startswith("twisted."):
        return None
    failure = event.get("log_failure")
    shown = {
        **{name: value for name, value in event.items() if not name.startswith("log_")},
        # Last: Twisted's older events have a "time" of their own, and it is another kind.
        "time": datetime.fromtimestamp(event["log_time"], UTC).isoformat(timespec="milliseconds"),
        "level": event["log_level"].name,
        "namespace": event.get("log_namespace"),
        "text": formatEvent(event),
    }
    if failure is not None:
        shown["traceback"] = failure.getTraceback()
    return dumps(shown, default=str) + "\n"


def json() -> ILogObserver:
    """For ``twistd --logger rescriptum.logs.json``: a JSON object a line, on stderr."""
    return FileLogObserver(sys.stderr, json_line)
