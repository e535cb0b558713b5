"""What every store of answers does; one suite of tests holds them all to it."""

from typing import Protocol

from ..documents import Key, Listing


class Store(Protocol):
    """
    Documents, kept. All of it blocks, runs in the pool of threads for answers, one call at a
    time. A key's place is one that :meth:`rescriptum.answers.documents.Place.checked` let through.
    """

    def describe(self) -> str:
        """Where it is, for people: ``files:/srv/answers``."""

    def close(self) -> None:
        """Let go of what is open; whatever is asked next opens it again."""

    def listing(self) -> Listing:
        """
        :returns: what is there now. The same object while nothing has changed; folders that
            have not changed are the same objects.
        :raises Unavailable: when it cannot be read: that is no empty set.
        """

    def keys(self) -> list[Key]:
        """
        :returns: of every document that is served, in order.
        :raises Unavailable: as above.
        """

    def get(self, key: Key) -> bytes:
        """
        :raises NotFound: when there is none.
        :raises Unavailable: as above.
        """

    def put(self, key: Key, data: bytes) -> None:
        """
        Write the whole document or nothing, over the one that is there, under the name it has.

        :raises Unavailable: when it cannot be written; what was there still is.
        """

    def delete(self, key: Key) -> None:
        """
        :raises NotFound: when there is none.
        :raises Unavailable: when it cannot be removed.
        """

    def move(self, key: Key, to: Key) -> None:
        """
        The document goes to another place, its bytes as they are; at no moment is it in neither.

        :raises NotFound: when there is none.
        :raises Refused: when there is one at ``to`` already: nothing is lost.
        :raises Unavailable: when it cannot be moved.
        """
