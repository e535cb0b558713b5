"""Virtual media as Redfish has them: which slot boots, and what inserting takes there."""

from collections.abc import Mapping
from typing import Final

from .documents import Document, inner, path_of, text, texts

_INSERT: Final = "#VirtualMedia.InsertMedia"
_EJECT: Final = "#VirtualMedia.EjectMedia"
_DISCS: Final = frozenset({"CD", "DVD"})

#: What is sent along with an image: by the book nothing; each vendor wants something else (W232).
#: The last ones are for BMCs that fail without credentials, which no image server of ours asks for.
FORMS: Final[Mapping[str, Document]] = {
    "bare": {},
    "plain": {"Inserted": True, "WriteProtected": True},
    "stream": {"TransferMethod": "Stream"},
    "login": {"TransferMethod": "Stream", "UserName": "none", "Password": "none"},
}


def forms(known: str) -> tuple[str, ...]:
    """:param known: the one that held before, which is the first."""
    return tuple(sorted(FORMS, key=lambda each: each != known))


def insertion(form: str, url: str) -> dict[str, object]:
    """:returns: what is sent."""
    made = {"Image": url, **FORMS[form]}
    if "TransferMethod" in made:
        made["TransferProtocolType"] = url.partition(":")[0].upper()
    return made


def is_disc(slot: Document) -> bool:
    """:returns: whether a machine boots from it as from a CD (W231)."""
    return bool(_DISCS & {each.upper() for each in texts(slot, "MediaTypes") or ()})


def inserted(slot: Document) -> bool:
    """:returns: whether it says so; after an eject that may be stale (W233)."""
    return slot.get("Inserted") is True or (
        slot.get("Inserted") is None and bool(text(slot, "Image"))
    )


def holds(slot: Document, url: str) -> bool:
    """:returns: whether the image is in it: some show it without its query, or by its name."""
    shown = text(slot, "Image") or text(slot, "ImageName")
    return inserted(slot) and (not shown or shown in url or url in shown)


def inserting(slot: Document) -> str:
    """:returns: where images are posted; empty: the slot itself is changed (Lenovo, W232)."""
    return path_of(inner(slot, "Actions", _INSERT).get("target"))


def ejecting(slot: Document) -> str:
    """:returns: where that is posted; empty: the slot itself is changed."""
    return path_of(inner(slot, "Actions", _EJECT).get("target"))
