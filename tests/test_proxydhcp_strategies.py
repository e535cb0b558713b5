"""Tests for ``rescriptum.proxydhcp.strategies``."""

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.offers import Preferences, Strategy
from rescriptum.proxydhcp.request import Request, understood
from rescriptum.proxydhcp.strategies import MOST, Machine, Strategies
from rescriptum.proxydhcp.wire import decode
from rescriptum.values import MAC

from .dhcpcases import MACHINE, asked, packet


def request(mac: MAC = MACHINE) -> Request:
    made = understood(decode(packet(asked(), mac=mac)))
    assert made is not None
    return made


class MachineTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.machine = Machine(MACHINE, Strategy.DIRECT)

    def discover(self, xid: bytes, *, ipxe: bool = False, learn: bool = True) -> bool:
        return self.machine.ignores(xid, True, ipxe, learn)

    def request(self) -> bool:
        return self.machine.ignores(b"r", False, False, True)

    def test_asking_the_same_three_times_is_ignoring(self) -> None:
        """Said once; from the third on it is answered in another way (B04)."""
        said = [self.discover(b"1") for _ in range(5)]
        self.assertEqual(said, [False, False, True, False, False])
        self.assertEqual(self.machine.strategy, Strategy.BOUNCE)

    def test_another_question_is_another_beginning(self) -> None:
        for xid in (b"1", b"1", b"2", b"2", b"1", b"1"):
            self.assertFalse(self.discover(xid))
        self.assertEqual(self.machine.strategy, Strategy.DIRECT)

    def test_strategies_come_in_turn(self) -> None:
        """And the first again, when none of them helped."""
        seen = []
        for xid in (b"1", b"2", b"3"):
            for _ in range(3):
                self.discover(xid)
            seen.append(self.machine.strategy)
        self.assertEqual(seen, [Strategy.BOUNCE, Strategy.PROMPT, Strategy.DIRECT])
        self.assertEqual(self.machine.tried, 3)

    def test_what_worked_stays(self) -> None:
        """It came to port 4011: then what goes wrong later has another reason."""
        self.discover(b"1")
        self.assertFalse(self.request())
        for _ in range(3):
            said = self.discover(b"2")
        self.assertTrue(said)
        self.assertEqual(self.machine.strategy, Strategy.DIRECT)

    def test_an_ipxe_that_comes_is_what_was_loaded(self) -> None:
        """A ROM that is iPXE itself proves nothing."""
        self.discover(b"1", ipxe=True)
        self.discover(b"2", ipxe=True)
        self.assertFalse(self.machine.worked)
        self.discover(b"3")
        self.discover(b"4", ipxe=True)
        self.assertTrue(self.machine.worked)

    def test_nothing_is_tried_where_it_may_not(self) -> None:
        """Neither without leave nor for a machine that an operator has chosen for."""
        for _ in range(3):
            self.discover(b"1", learn=False)
        self.machine.fixed = True
        for _ in range(3):
            self.discover(b"2")
        self.assertEqual(self.machine.strategy, Strategy.DIRECT)


class StrategiesTests(SynchronousTestCase):
    def test_begin_with_what_was_chosen(self) -> None:
        strategies = Strategies(Preferences.parse("efi64=bounce"))
        machine = strategies.machine(request())
        self.assertEqual((machine.mac, machine.strategy), (MACHINE, Strategy.BOUNCE))
        self.assertTrue(machine.fixed)
        self.assertIs(strategies.machine(request()), machine)
        bios = understood(decode(packet(asked(1, 0))))
        assert bios is not None
        self.assertEqual(strategies.machine(bios).strategy, Strategy.DIRECT)
        other = Strategies().machine(request())
        self.assertEqual((other.strategy, other.fixed), (Strategy.DIRECT, False))

    def test_are_bounded(self) -> None:
        """The eldest is forgotten."""
        strategies = Strategies()
        first = strategies.machine(request(MAC(f"{0:012x}")))
        for number in range(1, MOST):
            strategies.machine(request(MAC(f"{number:012x}")))
        self.assertIs(strategies.machine(request(MAC(f"{0:012x}"))), first)
        strategies.machine(request(MAC(f"{MOST:012x}")))
        self.assertIsNot(strategies.machine(request(MAC(f"{0:012x}"))), first)

    def test_show_what_was_learnt(self) -> None:
        """Not what is only being tried."""
        strategies = Strategies(learn=True)
        machine = strategies.machine(request())
        for _ in range(3):
            machine.ignores(b"1", True, False, True)
        self.assertEqual(list(strategies.learnt()), [])
        machine.ignores(b"1", False, False, True)
        [learnt] = strategies.learnt()
        self.assertEqual(
            (learnt.mac, learnt.tag, learnt.strategy), (MACHINE, "efi64", Strategy.BOUNCE)
        )
