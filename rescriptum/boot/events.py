"""
What events are; and those links of a machine's way that boot files are, each as one event.

The other links are where they happen: ``proxydhcp/events.py`` and ``answers/events.py``. Shells
record these and nothing else about a machine. ``name`` and the fields are stable: journeys,
metrics and verdicts are built on them. ``sentence`` is the operator's line of the same event.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import ClassVar

from attrs import fields, frozen
from twisted.logger import Logger, LogLevel

from ..values import MAC

INFO, WARN, DEBUG = LogLevel.info, LogLevel.warn, LogLevel.debug


@frozen(kw_only=True)
class Event:
    """
    What every event has.

    :cvar name: stable; ``LINK.WHAT``.
    :cvar link: which link of the way it belongs to.
    :cvar problem: whether ``RESCRIPTUM_LOG=problems`` keeps it.
    :ivar peer: ``(address, port)`` of the machine.
    """

    name: ClassVar[str]
    link: ClassVar[str]
    sentence: ClassVar[str]
    level: ClassVar[LogLevel] = INFO
    problem: ClassVar[bool] = False

    peer: tuple[str, int]


@frozen(kw_only=True)
class LoaderAsked(Event):
    """
    A read request that will be answered.

    :ivar options: as they were offered, ``blksize=1468 tsize=0``.
    :ivar via: ``tftp`` or ``http``.
    """

    name = "loader.asked"
    link = "loader"
    sentence = "{via}: {loader} requested {options}"

    loader: str
    options: str
    via: str = "tftp"


@frozen(kw_only=True)
class _LoaderEnded(Event):
    """
    How a loader's transfer ended.

    :ivar size: bytes of the file; ``sent`` how many of them were acknowledged.
    :ivar seconds: from the request to the end.
    """

    link = "loader"

    loader: str
    via: str = "tftp"
    size: int
    sent: int
    blksize: int = 0
    windowsize: int = 1
    retransmits: int = 0
    seconds: float
    outcome: str


@frozen(kw_only=True)
class LoaderSent(_LoaderEnded):
    """All of it arrived, or all but the last acknowledgement (W123): ``outcome`` says which."""

    name = "loader.sent"
    sentence = (
        "{via}: {loader} sent bytes={sent} blksize={blksize} windowsize={windowsize} "
        "retransmits={retransmits} seconds={seconds:.3f}"
    )


@frozen(kw_only=True)
class LoaderProbed(_LoaderEnded):
    """The firmware asked how large it is and went away to ask again (W100, W101)."""

    name = "loader.probed"
    sentence = "{via}: {loader} size probe, {size} bytes"
    level = DEBUG


@frozen(kw_only=True)
class LoaderStopped(_LoaderEnded):
    """
    The client ended it.

    :ivar reason: the client's own words, printable ASCII.
    """

    name = "loader.stopped"
    sentence = "{via}: {loader} stopped by the client at {sent} of {size} bytes: {reason}"

    reason: str


@frozen(kw_only=True)
class LoaderFailed(_LoaderEnded):
    """Nobody acknowledged; ``reason`` tells a blocked return path (W136) from a lost machine."""

    name = "loader.failed"
    sentence = "{via}: {loader} FAILED at {sent} of {size} bytes: {reason}"
    level = WARN
    problem = True

    reason: str


@frozen(kw_only=True)
class LoaderRefused(Event):
    """
    A request that gets an error, or silence.

    :ivar code: of the error, ``not-found``, ``forbidden``, ``busy`` …
    """

    name = "loader.refused"
    link = "loader"
    sentence = "{via}: {loader} refused: {code} {reason}"
    problem = True

    loader: str
    via: str = "tftp"
    code: str
    reason: str


@frozen(kw_only=True)
class ScriptSent(Event):
    """
    A script that says where to go next.

    :ivar script: ``bootstrap``, ``menu`` or ``autoexec``.
    """

    name = "script.sent"
    link = "script"
    sentence = "media: {script} bytes={size} seconds={seconds:.3f}"

    script: str
    mac: MAC | None = None
    size: int
    seconds: float
    outcome: str = "sent"


@frozen(kw_only=True)
class _MediumEnded(Event):
    """
    Bytes of an image.

    :ivar image: its id in the catalogue; ``path`` which part: ``kernel``, ``iso``, ``file/…``.
    :ivar requests: how many requests this stands for: iPXE's sanboot reads an image by
        thousands of ranges on one connection (W163), which are one event.
    """

    image: str
    path: str
    mac: MAC | None = None
    size: int
    sent: int
    requests: int = 1
    seconds: float
    outcome: str
    status: int

    sentence = (
        "media: {image}/{path} {status} {outcome} bytes={sent} requests={requests} "
        "seconds={seconds:.3f}"
    )


@frozen(kw_only=True)
class KernelSent(_MediumEnded):
    """The kernel left, whole or not: ``outcome`` says."""

    name = "kernel.sent"
    link = "kernel"


@frozen(kw_only=True)
class InitrdSent(_MediumEnded):
    """The initrd left, whole or not: ``outcome`` says."""

    name = "initrd.sent"
    link = "kernel"


@frozen(kw_only=True)
class ImageSent(_MediumEnded):
    """The image itself, or files inside it."""

    name = "image.sent"
    link = "image"


@frozen(kw_only=True)
class MediumRefused(Event):
    """A request on the media listener that got an error."""

    name = "image.refused"
    link = "image"
    sentence = "media: {method} {target} {status} {reason}"
    problem = True

    method: str
    target: str
    status: int
    reason: str


#: The names of the fields of a kind of event, and what takes their values out of one.
_Reader = tuple[tuple[str, ...], Callable[[Event], tuple[object, ...]]]
_READERS: dict[type[Event], _Reader] = {}


def _reader(kind: type[Event]) -> _Reader:
    names = tuple(each.name for each in fields(kind))
    return names, attrgetter(*names)


def record(log: Logger, event: Event, at: float | None = None) -> None:
    """
    Log ``event``: its sentence for people, its name and fields for machines.

    :param at: Unix time, where it is known already. A rack makes thousands of events a second, and
        half of what one takes is asking for the time and whether its level is one.
    """
    kind = type(event)
    if kind not in _READERS:
        _READERS[kind] = _reader(kind)
    names, values = _READERS[kind]
    said = dict(zip(names, values(event), strict=True))
    said["event"], said["link"], said["problem"] = event.name, event.link, event.problem
    if at is None:
        log.emit(event.level, event.sentence, **said)
        return
    said["log_logger"] = log
    said["log_level"] = event.level
    said["log_namespace"] = log.namespace
    said["log_source"] = log.source
    said["log_format"] = event.sentence
    said["log_time"] = at
    log.observer(said)
