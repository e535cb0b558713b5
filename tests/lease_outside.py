"""Worlds that break an assumption of the lease: there it does not hold, and is seen not to."""

from rescriptum.gateway.lease import LeaseRow, patience

from .lease_hosts import Host
from .lease_world import Process, World


class FrozenClocks(World):
    """A1: a hypervisor stops a guest and its clock with it."""

    def _pauses(self, host: Host) -> None:
        if host.paused_until <= self.now:
            super()._pauses(host)
            host.clock.stand_still(host.paused_until - self.now)


class LossyDatabase(World):
    """A2: a fail-over to a replica that was behind, and nobody says ``quarantine``."""

    def _restores(self, host: Host) -> None:
        if self._lost(0.5):
            self.row = self.backup
        self.backup = self.row

    _sets_ttl = _sets_wall = _restores


class WallClocks(World):
    """A1: the holder's time is over by the wall clocks of two machines, not by one's own."""

    def __init__(self, seed: int, asserted: str) -> None:
        self.until = 0.0
        super().__init__(seed, asserted=asserted)
        self.walls = [self.random.uniform(-20, 20) for _ in self.processes]

    def changed(self, row: LeaseRow) -> None:
        wall = self.random.choice(self.walls)
        self.until = self.now + wall + patience(row.ttl)
        super().changed(row)

    def over(self, process: Process, row: LeaseRow, now: float) -> bool:
        return row.holder is not None and self.now + self.walls[process.index] >= self.until


class LateFrames(World):
    """
    An agent that still reads its dead streams, those of its dead processes as well: it has the
    random numbers of its heartbeats to hold on to, and they are enough.
    """

    def drops(self, host: Host, life: int, session: str) -> bool:
        return False


OUTSIDE: dict[str, type[World]] = {
    "frozen-clock": FrozenClocks,
    "lossy-database": LossyDatabase,
    "wall-clock": WallClocks,
}
