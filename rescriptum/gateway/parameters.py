"""THE table of what an operator may say of each workflow, and of what may be said there."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final

from attrs import field, frozen

from ..contract.bmc import PowerAction
from ..contract.ramdisk import (
    Diagnose,
    DiagnosticTest,
    ImageFormat,
    Kexec,
    RootDisk,
    SeedKind,
    Wipe,
    WipeMode,
)
from ..contract.refusals import Rejected
from ..contract.sources import LONGEST, image_url, is_digest
from ..contract.structure import JSON, structured
from ..errors import Malformed
from .workflows import WorkflowKind

_WRONG: Final = "invalid-payload"
#: A qcow2 cannot be written as it streams: what is at its end says what comes first.
_STREAMED: Final = [each for each in ImageFormat if each is not ImageFormat.QCOW2]


@frozen
class Parameter:
    """
    One thing that an operator says of a workflow.

    :ivar required: whether it cannot be left out. :ivar choices: what it may be; empty: any text.
    :ivar looked_at: raises :class:`rescriptum.contract.refusals.Rejected` for what an agent would
        refuse: by then the machine's disks may be empty.
    """

    name: str
    help: str
    required: bool = False
    choices: tuple[str, ...] = field(default=())
    kind: type = str
    looked_at: Callable[[object], object] | None = None


def _values(choices: Iterable[Enum]) -> tuple[str, ...]:
    return tuple(str(each.value) for each in choices)


def _as(kind: type, name: str) -> Callable[[object], object]:
    """:param kind: of a payload, which has it as ``name``."""
    return lambda value: structured(kind, {name: value}, _WRONG)


def _digest(value: object) -> None:
    if not is_digest(str(value)):
        raise Rejected(_WRONG, "not 64 lower-case hexadecimal digits")


def _url(value: object) -> None:
    try:
        image_url(str(value), LONGEST)
    except Malformed as e:
        raise Rejected(_WRONG, str(e)) from None


_IMAGE: Final = (
    Parameter("sha256", "Of the image's stored bytes.", required=True, looked_at=_digest),
    Parameter(
        "url",
        "Where the image is, should the site's cache not have it.",
        required=True,
        looked_at=_url,
    ),
)
_DISKS: Final = (
    Parameter("wipe", "How thoroughly.", choices=_values(WipeMode)),
    Parameter("disks", "Their names; without it, all.", kind=list, looked_at=_as(Wipe, "disks")),
)
_CMDLINE: Final = Parameter("cmdline", "More for the ramdisk's kernel command line.")

#: What may be said of each, and what has to be.
PARAMETERS: Final[Mapping[WorkflowKind, tuple[Parameter, ...]]] = {
    WorkflowKind.DEPLOY: (
        *_IMAGE,
        Parameter("format", "Of the image.", choices=_values(_STREAMED)),
        *_DISKS,
        Parameter(
            "root_disk",
            "Which disk, by wwn, serial, device or min_size_bytes.",
            kind=dict,
            looked_at=lambda value: structured(RootDisk, value, _WRONG),
        ),
        Parameter("seed", "What reads the user data.", choices=_values(SeedKind)),
        Parameter("user_data_ref", "The secret that is the user data."),
        Parameter(
            "args",
            "More for the installed system's kernel command line.",
            looked_at=_as(Kexec, "args"),
        ),
        Parameter(
            "reboot",
            "Whether it reboots from its disk where kexec is refused, as by some Secure Boot.",
            kind=bool,
        ),
        Parameter("expect_node", "Whether the installed system joins by itself.", kind=bool),
        _CMDLINE,
    ),
    WorkflowKind.INSPECT: (
        Parameter(
            "diagnose",
            f"What to try out: {', '.join(_values(DiagnosticTest))}; an empty list: all of it.",
            kind=list,
            looked_at=_as(Diagnose, "tests"),
        ),
        Parameter(
            "seconds",
            f"For each of these, at the most; {Diagnose().seconds}.",
            kind=int,
            looked_at=_as(Diagnose, "seconds"),
        ),
        _CMDLINE,
    ),
    WorkflowKind.WIPE: (*_DISKS, _CMDLINE),
    WorkflowKind.POWER: (
        Parameter(
            "action",
            "What to do.",
            required=True,
            choices=_values(PowerAction),
        ),
    ),
    WorkflowKind.FIRMWARE: (*_IMAGE, Parameter("targets", "Which parts; all.", kind=list)),
}


_KINDS: Final = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def checked(kind: WorkflowKind, parameters: JSON) -> JSON:
    """
    :returns: ``parameters``, each of which may be said of such a workflow.
    :raises Rejected: ``invalid-payload``, naming the one that may not, or that is missing.
    """
    known = {each.name: each for each in PARAMETERS[kind]}
    for name, value in parameters.items():
        row = known.get(name)
        if row is None:
            takes = ", ".join(known) or "nothing"
            raise Rejected(_WRONG, f"{kind.value} takes no {name[:40]!r}, but {takes}")
        if type(value) is not row.kind:
            raise Rejected(_WRONG, f"{name}: not {_KINDS[row.kind]}")
        if row.choices and value not in row.choices:
            raise Rejected(_WRONG, f"{name}: one of {', '.join(row.choices)}")
        if row.looked_at is not None:
            try:
                row.looked_at(value)
            except Rejected as e:
                raise Rejected(_WRONG, f"{name}: {e.detail}") from None
    missing = [
        each.name for each in known.values() if each.required and each.name not in parameters
    ]
    if missing:
        raise Rejected(_WRONG, f"{kind.value} needs {', '.join(missing)}")
    return parameters
