"""Tests for ``rescriptum.gateway.keyring``."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.keys import pin
from rescriptum.contract.pins import Pin
from rescriptum.errors import ConfigError
from rescriptum.gateway.authority import Authority, Served
from rescriptum.gateway.keyring import PINS, ROWS, SERVED, Files, Keyring
from rescriptum.values import Problem

NOW = datetime(2026, 12, 1, tzinfo=UTC)
DAY = timedelta(days=1)
NAMES = ("gw.internal", "10.9.8.7")


class Stopped(Exception):
    """The power went."""


class MemoryFiles:
    """Satisfies :class:`rescriptum.gateway.keyring.Files`."""

    def __init__(self) -> None:
        self.path = Path("keys")
        self.held: dict[str, bytes] = {}
        self.written: list[str] = []
        self.most = 1000
        self.wide: set[str] = set()

    def read(self, name: str) -> bytes | None:
        if name in self.wide:
            raise ConfigError([Problem(str(self.path / name), "others may read it")])
        return self.held.get(name)

    def write(self, name: str, data: bytes) -> None:
        if len(self.written) >= self.most:
            raise Stopped
        self.held[name] = data
        self.written.append(name)


class KeyringTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.files = MemoryFiles()

    def opened(self, now: datetime = NOW) -> Keyring:
        files: Files = self.files
        return Keyring.open(files, now)

    def problems(self, now: datetime = NOW) -> list[str]:
        error: ConfigError = self.assertRaises(ConfigError, self.opened, now)
        return [str(each) for each in error.problems]

    def test_the_first_start_makes_them_all(self) -> None:
        ring = self.opened()
        self.assertEqual(self.files.written, [*(row.file for row in ROWS), PINS])
        self.assertEqual(ring.pins()[0], ("serving_ca_spki_pin", ring.authority.pin))
        self.assertEqual(ring.pins()[1], ("join_signing_key_pin", pin(ring.join_signing)))
        self.assertEqual(ring.pins()[2], ("join_encryption_key_pin", pin(ring.join_encryption)))
        for _, value in ring.pins():
            Pin.parse(value)
        self.assertEqual(self.files.held[PINS].decode(), ring.pins_toml())

    def test_later_starts_read_them(self) -> None:
        first = self.opened()
        self.files.written.clear()
        again = self.opened(NOW + 30 * DAY)
        self.assertEqual(self.files.written, [])
        self.assertEqual(again.pins(), first.pins())
        self.assertEqual(again.vault, first.vault)
        self.assertEqual(again.worker, first.worker)

    def test_a_first_start_that_was_cut_off_goes_on(self) -> None:
        """At every write: what is there is kept, what is missing is made."""
        for most in range(len(ROWS) + 1):
            self.files = MemoryFiles()
            self.files.most = most
            self.assertRaises(Stopped, self.opened)
            before = dict(self.files.held)
            self.files.most = 1000
            ring = self.opened()
            self.assertEqual(before.items() - self.files.held.items(), set())
            self.assertEqual(self.opened().pins(), ring.pins())

    def test_a_lost_key_is_not_made_anew(self) -> None:
        """Agents have pinned it: another one would lock them out, and nobody would know why."""
        for row in ROWS:
            self.files = MemoryFiles()
            self.opened()
            del self.files.held[row.file]
            [problem] = self.problems()
            self.assertIn(f"keys/{row.file}: is missing", problem)
            self.assertIn(row.purpose, problem)
            self.assertNotIn(row.file, self.files.held)

    def test_a_damaged_key_is_told_in_one_line(self) -> None:
        for row in ROWS:
            self.files = MemoryFiles()
            self.opened()
            good = self.files.held[row.file]
            for damage in (b"", good[:-10], b"\0" * len(good), good[10:]):
                self.files.held[row.file] = damage
                [problem] = self.problems()
                self.assertIn(f"keys/{row.file}: is damaged: ", problem)
                self.assertNotIn("\n", problem)
                self.assertNotIn(good[40:54].decode(), problem)
                self.assertNotIn(good[-20:-6].decode(), problem)
                self.assertEqual(self.files.held[row.file], damage)

    def test_a_key_that_others_may_read_is_not_used(self) -> None:
        self.opened()
        self.files.wide = {ROWS[0].file, ROWS[2].file}
        self.assertEqual(len(self.problems()), 2)

    def test_every_problem_at_once(self) -> None:
        self.opened()
        self.files.held["worker.jwk"] = b"{}"
        del self.files.held["secrets.key"]
        self.files.wide = {"serving-ca.pem"}
        self.assertEqual(len(self.problems()), 3)

    def test_a_clock_that_cannot_be_right(self) -> None:
        [problem] = self.problems(datetime(1970, 1, 2, tzinfo=UTC))
        self.assertIn("cannot be made: the clock says 1970-01-02", problem)

    def test_a_ca_near_its_end_is_renewed_and_keeps_its_pin(self) -> None:
        first = self.opened()
        later = first.authority.certificate.not_valid_after_utc - DAY
        self.files.written.clear()
        again = self.opened(later)
        self.assertEqual(self.files.written, ["serving-ca.pem"])
        self.assertEqual(again.pins(), first.pins())
        self.assertGreater(again.authority.certificate.not_valid_after_utc, later + 3000 * DAY)

    def test_pins_follow_a_key_that_was_replaced(self) -> None:
        self.opened()
        self.files.held["serving-ca.pem"] = Authority.make(NOW).pem()
        ring = self.opened()
        self.assertEqual(self.files.held[PINS].decode(), ring.pins_toml())

    def test_nothing_secret_is_shown(self) -> None:
        ring = self.opened()
        shown = repr(ring)
        for data in (self.files.held[row.file] for row in ROWS):
            self.assertNotIn(data[40:54].decode(), shown)
            self.assertNotIn(data[-20:-6].decode(), shown)


class TableTests(SynchronousTestCase):
    def test_each_file_stands_once(self) -> None:
        files = [row.file for row in ROWS]
        self.assertEqual(len(set(files)), len(files))
        self.assertEqual({SERVED, PINS} & set(files), set())

    def test_what_a_row_makes_it_takes(self) -> None:
        for row in ROWS:
            row.check(row.made(NOW))
            self.assertNotEqual(row.made(NOW), row.made(NOW))


class ServedTests(SynchronousTestCase):
    """What the listener shows: nobody pins it, so it is made anew whenever it has to be."""

    def setUp(self) -> None:
        self.files = MemoryFiles()
        self.ring = Keyring.open(self.files, NOW)

    def served(self, now: datetime = NOW, names: tuple[str, ...] = NAMES, days: int = 90) -> bool:
        return self.ring.served(self.files, names, now, days)

    def test_it_is_made_and_kept(self) -> None:
        self.assertTrue(self.served())
        made = Served.load(self.files.held[SERVED])
        self.assertEqual(made.names(), NAMES)
        self.assertEqual(made.chain[1], self.ring.authority.certificate)
        self.assertFalse(self.served(NOW + 59 * DAY))

    def test_it_is_renewed(self) -> None:
        self.served()
        self.assertTrue(self.served(NOW + 60 * DAY))
        self.assertFalse(self.served(NOW + 61 * DAY))
        self.assertTrue(self.served(NOW + 61 * DAY, ("other.internal",)))

    def test_a_damaged_one_is_replaced(self) -> None:
        for damage in (b"", b"\xff", self.ring.authority.pem()):
            self.files.held[SERVED] = damage
            self.assertTrue(self.served())
            self.assertFalse(self.served())

    def test_names_that_no_certificate_can_have(self) -> None:
        for names in ((), ("a b",)):
            error: ConfigError = self.assertRaises(ConfigError, self.served, NOW, names)
            self.assertIn(f"keys/{SERVED}: ", str(error))

    def test_one_that_others_may_read_is_not_used(self) -> None:
        self.served()
        self.files.wide = {SERVED}
        self.assertRaises(ConfigError, self.served)
