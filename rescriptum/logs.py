"""
Log lines for people and JSON lines for machines, out of the same events.

A line is ``TIME PEER TEXT``: UTC to the second, the machine's address and port or ``-``, the
event's sentence.
"""

import sys
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import TextIO, cast

from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    ILogFilterPredicate,
    ILogObserver,
    LogEvent,
    LogLevel,
    PredicateResult,
    formatEvent,
)
from zope.interface import implementer

from .errors import ConfigError
from .values import Problem

#: Namespaces whose chatter at info level says nothing about a machine.
_QUIET = ("twisted.", "log_legacy")


def text_line(event: LogEvent) -> str | None:
    """:returns: the operator's line of ``event``; None for one that says nothing."""
    text = _printable(formatEvent(event))
    failure = event.get("log_failure")
    if failure is not None:
        text = f"{text}\n{failure.getTraceback()}"
    if not text:
        return None
    when = datetime.fromtimestamp(event["log_time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    peer = event.get("peer")
    where = "-"
    if isinstance(peer, tuple):
        host, port = peer[:2]
        where = f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    level = event["log_level"]
    mark = f"{level.name}: " if level >= LogLevel.warn else ""
    return f"{when} {where} {mark}{text}\n"


def _printable(text: str) -> str:
    """A stranger's bytes are in the text: none of them moves a cursor or begins a line."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in text)


@implementer(ILogFilterPredicate)
class Wanted:
    """
    Which events become lines.

    :ivar show: ``all``, or ``problems``: what went wrong, and the server's own lines.
    """

    def __init__(self, show: str) -> None:
        self._problems_only = show == "problems"

    def __call__(self, event: LogEvent) -> object:
        level = event["log_level"]
        if level >= LogLevel.warn:
            return PredicateResult.yes
        if level < LogLevel.info or str(event.get("log_namespace")).startswith(_QUIET):
            return PredicateResult.no
        if self._problems_only and "event" in event and not event.get("problem"):
            return PredicateResult.no
        return PredicateResult.yes


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
    if file in ("stderr", "stdout"):
        return cast(TextIO, getattr(sys, file))
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
    return FilteringLogObserver(FileLogObserver(opened(file), text_line), [Wanted(show)])


def json_line(event: LogEvent) -> str:
    """:returns: ``event`` with all its fields, as one line of JSON."""
    failure = event.get("log_failure")
    shown = {
        "time": datetime.fromtimestamp(event["log_time"], UTC).isoformat(timespec="milliseconds"),
        "level": event["log_level"].name,
        "namespace": event.get("log_namespace"),
        "text": formatEvent(event),
        **{name: value for name, value in event.items() if not name.startswith("log_")},
    }
    if failure is not None:
        shown["traceback"] = failure.getTraceback()
    return dumps(shown, default=str) + "\n"


def json() -> ILogObserver:
    """For ``twistd --logger rescriptum.logs.json``: a JSON object a line, on stderr."""
    return FileLogObserver(sys.stderr, json_line)
