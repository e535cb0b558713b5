"""
The links of a machine's way, each as one structured event.

Shells record these and nothing else about a machine. ``name`` and the fields are stable: journeys,
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
class DhcpOffered(Event):
    """
    A machine was told its boot file, beside the site's own DHCP server.

    :ivar answer: ``OFFER`` or ``ACK``.
    :ivar client: which firmware it is, for people.
    :ivar boot_file: a name for TFTP, or a URL. :ivar strategy: how it was said.
    :ivar times: how often this question came; ``untold``: answers in the second before, which have
        no event of their own.
    """

    name = "dhcp.offered"
    link = "dhcp"
    sentence = (
        "dhcp: {answer} to {mac} ({client}): {boot_file} strategy={strategy} times={times} "
        "untold={untold}"
    )

    mac: MAC
    answer: str
    client: str
    boot_file: str
    strategy: str
    times: int
    untold: int = 0


@frozen(kw_only=True)
class DhcpIgnored(Event):
    """
    The same question came again and again: our offers do not suit the machine's firmware, or no
    DHCP server gives it an address.

    :ivar strategy: by which it is answered from here on.
    """

    name = "dhcp.ignored"
    link = "dhcp"
    sentence = (
        "dhcp: {mac} ({client}) {outcome}: it asked {times} times and took nobody's answer; from "
        "here on strategy={strategy}. If that does not help, and a DHCP server does give it an "
        "address, put options 66 and 67 there: 'rescriptum boot dhcp-snippet' prints them"
    )
    level = WARN
    problem = True

    mac: MAC
    client: str
    times: int
    strategy: str
    outcome: str = "offer-ignored"


@frozen(kw_only=True)
class DhcpDiscovered(Event):
    """A machine asked that nobody prepared anything for: it is left alone, and listed."""

    name = "dhcp.discovered"
    link = "dhcp"
    sentence = "dhcp: {mac} ({client}) left alone: it has no boot entry"

    mac: MAC
    client: str


@frozen(kw_only=True)
class DhcpRefused(Event):
    """
    A machine with a boot entry gets no answer.

    :ivar code: ``no-loader``, ``too-long`` …
    """

    name = "dhcp.refused"
    link = "dhcp"
    sentence = "dhcp: {mac} ({client}) not answered: {code} {reason}"
    problem = True

    mac: MAC
    client: str
    code: str
    reason: str


@frozen(kw_only=True)
class DhcpForeign(Event):
    """
    Another server says what ours says.

    :ivar server: its address. :ivar code: ``another-proxy``, ``vendor-class`` or ``boot-file``.
    :ivar cure: what to change there.
    """

    name = "dhcp.foreign"
    link = "dhcp"
    sentence = "dhcp: {server} {code}: {reason}; {cure}"
    level = WARN
    problem = True

    server: str
    code: str
    reason: str
    cure: str


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


@frozen(kw_only=True)
class _Answered(Event):
    """
    A request on the answer listener.

    :ivar target: with its query, as asked.
    :ivar body: bytes that came with it.
    :ivar mac: of the machine, where the request named one.
    """

    link = "answer"

    method: str
    target: str
    body: int
    mac: MAC | None = None
    status: int
    seconds: float


@frozen(kw_only=True)
class AnswerSent(_Answered):
    """
    What the machine received.

    :ivar family: of the document, what the line calls its format.
    :ivar machine: the identity whose document claimed the request, or empty.
    :ivar group: the group below it, or ``default``, or empty.
    """

    name = "answer.sent"
    sentence = (
        "{method} {target} body={body} {status} format={family} machine={machine} group={group} "
        "bytes={size}"
    )

    family: str
    machine: str
    group: str
    size: int
    outcome: str = "sent"


@frozen(kw_only=True)
class AnswerRefused(_Answered):
    """No document, a document that cannot be rendered, a method, a body over its bound."""

    name = "answer.refused"
    sentence = "{method} {target} body={body} {status} {reason}"
    problem = True

    reason: str


@frozen(kw_only=True)
class MachineInstalled(Event):
    """
    An installer said that it is done.

    :ivar disarmed: which documents were taken out of use, and where they are now.
    """

    name = "machine.installed"
    link = "installed"
    sentence = "POST /installed: {disarmed}"

    mac: MAC | None = None
    disarmed: str


@frozen(kw_only=True)
class AdminChanged(Event):
    """
    A document of the answer set that somebody wrote or removed over the admin listener.

    :ivar document: which one: its place and its format's file.
    :ivar outcome: ``stored`` or ``deleted``.
    :ivar size: bytes of what is there now.
    """

    name = "admin.changed"
    link = "admin"
    sentence = "admin: {outcome} {document} bytes={size}"

    document: str
    outcome: str
    size: int


@frozen(kw_only=True)
class AdminRefused(Event):
    """
    A change that was not made, or somebody who was not let in.

    :ivar path: without its query.
    """

    name = "admin.refused"
    link = "admin"
    sentence = "admin: {method} {path} {status} {reason}"
    problem = True

    method: str
    path: str
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
