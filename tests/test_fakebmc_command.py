"""Tests for ``rescriptum power fake-bmc``: its options."""

from pathlib import Path

from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.power.fake import FakeBmcOptions, as_text, password_in
from rescriptum.errors import ConfigError
from rescriptum.fakebmc.switches import Switch, Switches
from rescriptum.values import Listen


def parsed(*argv: str) -> FakeBmcOptions:
    options = FakeBmcOptions()
    options.parseOptions(list(argv))
    return options


class OptionsTests(SynchronousTestCase):
    def test_what_is_usual(self) -> None:
        """The loopback, no switch, no command."""
        options = parsed()
        self.assertEqual(options.at, Listen("127.0.0.1", 8443))
        self.assertEqual(options.chosen, Switches())
        self.assertEqual(options.argv, ())

    def test_what_can_be_said(self) -> None:
        """A switch as often as one likes, and a command as a shell takes it."""
        options = parsed(
            "--switch", "slash", "-s", "hang", "--listen", "[::1]:0", "--on-power", "run 'a b'"
        )
        self.assertEqual(options.chosen, Switches.of(Switch.SLASH, Switch.HANG))
        self.assertEqual(options.at, Listen("::1", 0))
        self.assertEqual(options.argv, ("run", "a b"))

    def test_what_is_wrong_is_said(self) -> None:
        """With what would be right."""
        for argv, said in (
            (("--switch", "slsh"), "did you mean 'slash'"),
            (("--listen", "8443"), "ADDRESS:PORT"),
            (("--on-power", ""), "want a command"),
            (("--on-power", "'x"), "[Nn]o closing quotation"),
            (("--user", "a:b"), "without a colon"),
        ):
            with self.assertRaisesRegex(UsageError, said):
                parsed(*argv)

    def test_a_password_of_a_file(self) -> None:
        """Its first line; and a file without one is named."""
        path = Path(self.mktemp())
        for told, password in ((b"one\ntwo\n", "one"), (b"  a b \r\n", "  a b "), (b"x", "x")):
            path.write_bytes(told)
            self.assertEqual(password_in(path), password)
        for told, said in ((b"\nx", "empty"), (b"\xff\n", "UTF-8")):
            path.write_bytes(told)
            with self.assertRaisesRegex(ConfigError, said) as raised:
                password_in(path)
            self.assertIn(str(path), str(raised.exception))
        path.unlink()
        with self.assertRaisesRegex(ConfigError, "No such file"):
            password_in(path)

    def test_the_list_has_every_switch(self) -> None:
        """A line for each."""
        lines = as_text().splitlines()
        self.assertEqual(len(lines), len(Switch))
        self.assertEqual(lines[0].split()[:2], ["odd-ids", "W200"])
        self.assertTrue(all(len(line) < 110 for line in lines))
