"""What may be written to a store, whichever it is."""

from ...errors import Refused
from ..documents import MAX_DOCUMENT, Key, Place


def admitted(key: Key, data: bytes = b"") -> None:
    """
    Names become paths, in this store or in the one that it is exported to: every store asks.

    :raises Refused: for a place or a size that no store takes.
    """
    try:
        Place.checked(key.place.kind, key.place.name)
    except ValueError as e:
        raise Refused(str(e)) from None
    if len(data) > MAX_DOCUMENT:
        raise Refused(f"{key}: larger than {MAX_DOCUMENT} bytes")
