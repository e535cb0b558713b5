"""Requests that an operator has in files: what one posts, or what the server has kept."""

from pathlib import Path

from ..answers.captured import BODY, META
from ..answers.facts import Facts
from ..answers.stores.capture import replayed
from ..errors import MalformedRequest, Refused

#: As much of a body as the server takes.
MAX_BODY = 1 << 20


def contents(path: Path, most: int = MAX_BODY) -> bytes:
    """
    :param most: in bytes.
    :raises Refused: naming the file that cannot be read, or is larger.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as e:
        raise Refused(f"{path}: {e.strerror}") from e
    if len(data) > most:
        raise Refused(f"{path}: larger than {most} bytes")
    return data


def is_captured(path: Path) -> bool:
    """:returns: whether it is called like what the server has kept."""
    return path.suffix == META


def captured(path: Path) -> Facts:
    """
    :param path: of what the server has kept; the body lies beside it.
    :raises Refused: naming the file, and what is wrong with it.
    """
    if not is_captured(path):
        raise Refused(f"{path}: want the {META} of a request that was kept")
    meta = contents(path).decode("utf-8", "replace")
    body = contents(path.with_suffix(BODY))
    try:
        request = replayed(meta, body)
        return Facts.of(request.segments, request.query, request.body, peer=request.peer[0])
    except MalformedRequest as e:
        raise Refused(f"{path}: {e}") from None
