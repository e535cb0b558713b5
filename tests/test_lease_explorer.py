"""Tests for the boot lease in every order of events, within bounds."""

from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from .lease_explorer import TICK, Bounds, Explorer

#: How far each search looks, and how many states there are when nothing is left out: fewer is a
#: search that has grown blind.
ARBITERS = Bounds(observers=2), 23_700
HEARTBEATS = Bounds(beats=2), 69_042
SESSIONS = Bounds(sessions=2), 76_643
COPIED = Bounds(epochs=2, sessions=2, nodes=("node-a", "node-a")), 9_184
SEARCHES = (ARBITERS, HEARTBEATS, SESSIONS, COPIED)


class ExplorerTests(SynchronousTestCase):
    """No order of events opens two fences."""

    _log = Logger()

    def holds(self, bounds: Bounds, states: int) -> None:
        seen, way = Explorer(bounds).search()
        self._log.info("{bounds}: {states} states", bounds=bounds, states=seen)
        self.assertEqual(way, [])
        self.assertEqual(seen, states)

    def test_two_arbiters(self) -> None:
        """Two gateway processes that read and take at any moment."""
        self.holds(*ARBITERS)

    def test_two_heartbeats(self) -> None:
        """An older proof and a newer one, for any of three epochs."""
        self.holds(*HEARTBEATS)

    def test_two_sessions(self) -> None:
        """Hello again, and killed and started."""
        self.holds(*SESSIONS)

    def test_a_copied_identity(self) -> None:
        """One node on two hosts, each with two sessions."""
        self.holds(*COPIED)

    def test_no_time_to_spare(self) -> None:
        """
        The bounds are tight: patience ends in the very tick in which the fence closes, and with a
        tick that is a thousandth shorter it would not.
        """
        explorer = Explorer(Bounds())
        self.assertEqual((explorer.closed, explorer.patient), (2, 2))
        self.assertEqual(Explorer(Bounds(tick=TICK * 0.999)).patient, 3)
