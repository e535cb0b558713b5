"""Tasks as Redfish has them: four ways to be told of one, and what its states mean."""

from enum import Enum
from typing import Final

from attrs import frozen

from ...contract.bmc import BmcRefusal
from .documents import Document, inner, link, number, path_of, text
from .replies import Reply, location, messages

_RUNNING: Final = frozenset(
    {
        "New",
        "Starting",
        "Running",
        "Suspended",
        "Pending",
        "Stopping",
        "Service",
        "Cancelling",
        "Downloading",
        "Scheduled",
        "Scheduling",
        "Waiting",
        "Paused",
        "ReadyForExecution",
    }
)
_DONE: Final = frozenset({"Completed", "CompletedOK", "Success"})
_MONITOR: Final = "/Monitor"


class Phase(Enum):
    """How a task stands. ``GONE``: nobody knows how it ended (W237)."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    GONE = "gone"


@frozen
class Progress:
    """:ivar percent: None where it does not say. :ivar said: in the BMC's words."""

    phase: Phase
    said: str = ""
    percent: int | None = None


def begun(reply: Reply) -> str:
    """
    :param reply: to what began something.
    :returns: the path of its task; empty when the answer names none (W236). The task itself rather
        than its monitor, which Lenovo's delete once it was read (W238).
    """
    try:
        document = reply.document()
    except BmcRefusal:
        document = {}
    if is_task(document):
        named = link(document) or path_of(document.get("TaskMonitor"))
    else:
        named = link(inner(document, "Task")) or path_of(document.get("TaskMonitor"))
        if reply.status == 202:
            named = named or link(document)
    return (named or location(reply)).removesuffix(_MONITOR)  # OpenBMC's (W239)


def is_task(document: Document) -> bool:
    """:returns: whether it is a task, or what Dell calls a job."""
    return bool(text(document, "TaskState") or text(document, "JobState"))


def progress(reply: Reply, document: Document) -> Progress:
    """
    :param reply: to a GET of the task. :param document: of it; empty where that is no JSON.
    :returns: a task that is ``Completed`` and ``Critical`` has failed (W240).
    """
    if reply.status in (404, 410):
        return Progress(Phase.GONE)
    if reply.status >= 500 or (reply.status == 202 and not is_task(document)):
        return Progress(Phase.RUNNING)  # a BMC that updates itself says a lot
    if not reply.fine:
        return Progress(Phase.FAILED, _said(document) or f"HTTP {reply.status}")
    if not is_task(document):
        return Progress(Phase.DONE)  # a monitor answers with the result in the end
    state = text(document, "TaskState") or text(document, "JobState")
    percent = number(document, "PercentComplete")
    share = int(percent) if percent is not None and 0 <= percent <= 100 else None
    said = f"{state}: {_said(document)}".rstrip(": ")
    if state in _RUNNING:
        return Progress(Phase.RUNNING, said, share)
    bad = text(document, "TaskStatus") == "Critical"
    return Progress(Phase.DONE if state in _DONE and not bad else Phase.FAILED, said, share)


def _said(document: Document) -> str:
    own = document.get("Messages")
    listed = own if isinstance(own, list) else []
    found = [text(inner(each), "Message") for each in listed[-3:]]
    found += [each.said or each.name for each in messages(document)]
    found.append(text(document, "Message"))
    return "; ".join(dict.fromkeys(each for each in found if each))
