"""Walking a tree of names that strangers wrote, without ever leaving it."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from ..errors import NotFound

MAX_DEPTH = 16
MAX_HOPS = 16
MAX_PATH = 4096


class Node(Protocol):
    """A directory, a file, or a link to either."""

    @property
    def directory(self) -> bool:
        """Whether names can be looked up in it."""

    @property
    def target(self) -> str | None:
        """Where a link points, in the tree's own words; None when it is no link."""


N = TypeVar("N", bound=Node)


def walk(root: N, path: str, look: Callable[[N, str], N]) -> N:
    """
    :param path: ``/`` between its parts; empty parts and ``.`` are passed over.
    :param look: a directory's child of a name, raising :class:`NotFound` when there is none.
    :returns: the file or directory at ``path``, links followed inside the tree only.
    :raises NotFound: also for ``..``, for loops of links and for paths without end.
    """
    if len(path) > MAX_PATH or "\0" in path or ".." in path.split("/"):
        raise NotFound("not a path inside an image")
    stack, todo, hops = [root], path.split("/")[::-1], 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":  # out of a link: the request's own were refused
            if len(stack) == 1:
                raise NotFound("a link that leads out of the image")
            stack.pop()
            continue
        if not stack[-1].directory:
            raise NotFound(f"no directory before {part!r}")
        child = look(stack[-1], part)
        if child.target is None:
            if len(stack) > MAX_DEPTH:
                raise NotFound(f"more than {MAX_DEPTH} directories deep")
            stack.append(child)
            continue
        hops += 1
        if hops > MAX_HOPS or len(child.target) > MAX_PATH:
            raise NotFound("links that lead on and on")
        if child.target.startswith("/"):
            del stack[1:]
        todo += child.target.split("/")[::-1]
    return stack[-1]
