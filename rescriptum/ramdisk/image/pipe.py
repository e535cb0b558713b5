"""A bounded queue between two threads, which either of them, or a third one, can break."""

import threading
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Broken(Exception):
    """Nothing more goes through: another stage has failed, or was told to stop."""


class Pipe(Generic[_T]):
    """Things in order, from one thread to another; whoever is too fast waits."""

    def __init__(self, most: int) -> None:
        """:param most: things that may be in it."""
        self._most = most
        self._things: deque[_T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._broken = False

    def put(self, thing: _T) -> None:
        """:raises Broken: when nobody takes it any more."""
        with self._changed:
            while len(self._things) >= self._most and not self._broken:
                self._changed.wait()
            if self._broken:
                raise Broken
            self._things.append(thing)
            self._changed.notify_all()

    def take(self) -> _T | None:
        """
        :returns: the next one; None: that was the last.
        :raises Broken: when no more come, although there should.
        """
        with self._changed:
            while not (self._things or self._closed or self._broken):
                self._changed.wait()
            if self._broken:
                raise Broken
            if not self._things:
                return None
            thing = self._things.popleft()
            self._changed.notify_all()
            return thing

    def __iter__(self) -> Iterator[_T]:
        """:raises Broken: as :meth:`take` does."""
        while (thing := self.take()) is not None:
            yield thing

    def close(self) -> None:
        """The last one is in it."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def break_(self) -> None:
        """Whoever waits at either end goes on at once."""
        with self._changed:
            self._broken = True
            self._things.clear()
            self._changed.notify_all()
