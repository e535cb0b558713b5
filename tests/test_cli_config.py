"""Tests for ``rescriptum.cli.config`` and ``rescriptum.cli.main``."""

import json
import os
import sys
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum import __version__
from rescriptum.cli.config import writable
from rescriptum.cli.main import main
from rescriptum.settings import SETTINGS


class CommandCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp())
        self.here.mkdir()

    def run_command(self, *argv: str, **environ: str) -> tuple[int, str, str]:
        out, err = StringIO(), StringIO()
        code = main(argv, environ, out, err)
        return code, out.getvalue(), err.getvalue()


class ShowTests(CommandCase):
    def test_shows_every_setting_with_its_source(self) -> None:
        code, out, err = self.run_command("config", RESCRIPTUM_BOOT_TITLE="Rack 4")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(len(out.splitlines()), len(SETTINGS))
        self.assertRegex(out, r"RESCRIPTUM_BOOT_TITLE +Rack 4 +environment")

    def test_works_on_a_broken_configuration(self) -> None:
        """The command that says what is wrong must not fail on it; its exit code tells."""
        code, out, err = self.run_command("config", RESCRIPTUM_BOOT_UNCLAIMED="x")
        self.assertEqual(code, 1)
        self.assertIn("RESCRIPTUM_BOOT_UNCLAIMED", out)
        self.assertIn("error: environment: RESCRIPTUM_BOOT_UNCLAIMED", err)

    def test_json_says_whether_a_server_would_start(self) -> None:
        code, out, _ = self.run_command("config", "--json", RESCRIPTUM_BOOT_UNCLAIMED="x")
        shown = json.loads(out)
        self.assertEqual((code, shown["starts"]), (1, False))
        self.assertEqual(
            set(shown["settings"][0]),
            {"key", "path", "value", "set", "source", "default", "secret", "help"},
        )

    def test_looking_makes_no_file(self) -> None:
        """A file that is named and missing is missing afterwards too; a pipe is not waited for."""
        missing, pipe = self.here / "env", self.here / "pipe"
        _, out, _ = self.run_command("config", "--json", RESCRIPTUM_ENV_FILE=str(missing))
        self.assertTrue(json.loads(out)["writable"])
        self.assertFalse(missing.exists())
        os.mkfifo(pipe)
        writer = os.open(pipe, os.O_RDWR)  # else reading it would wait for somebody who writes
        self.addCleanup(os.close, writer)
        self.assertFalse(writable(pipe))
        self.assertFalse(writable(self.here / "nowhere" / "env"))

    def test_value_is_the_value_alone(self) -> None:
        self.assertEqual(
            self.run_command("config", "--value", "RESCRIPTUM_TFTP_BLKSIZE"), (0, "1468\n", "")
        )
        self.assertEqual(self.run_command("config", "--value", "RESCRIPTUM_MEDIA_DIR"), (1, "", ""))
        code, _, err = self.run_command("config", "--value", "RESCRIPTUM_NONSENSE")
        self.assertEqual((code, err), (1, "error: no such setting: RESCRIPTUM_NONSENSE\n"))

    def test_shows_no_secret(self) -> None:
        """Not in the table, not for scripts, not when it is asked for, not when it is wrong."""
        tokens = [each.variable for each in SETTINGS if each.secret]
        self.assertEqual(len(tokens), 3)
        for name in tokens:
            for text in ("0123456789abcdef", "two words"):
                _, out, err = self.run_command("config", **{name: text})
                self.assertRegex(out, rf"{name} +\(set\) +environment")
                _, shown, _ = self.run_command("config", "--json", **{name: text})
                [row] = [each for each in json.loads(shown)["settings"] if each["key"] == name]
                self.assertEqual((row["secret"], row["set"], row["value"]), (True, True, None))
                code, value, said = self.run_command("config", "--value", name, **{name: text})
                self.assertEqual((code, value), (1, ""))
                self.assertIn(f"{name} is a secret", said)
                self.assertNotIn(text, out + err + shown + said)
            _, out, _ = self.run_command("config")
            self.assertRegex(out, rf"{name} +\(not set\) +default")

    def test_shows_what_an_unset_host_would_be(self) -> None:
        code, out, _ = self.run_command("config", "--value", "RESCRIPTUM_PUBLIC_HOST")
        self.assertEqual(code, 0)
        self.assertTrue(out.strip())


class ChangeTests(CommandCase):
    def test_sets_in_an_environment_file(self) -> None:
        file = self.here / "env"
        file.write_text("# mine\n#RESCRIPTUM_BOOT_TITLE=old\n")
        file.chmod(0o640)
        code, _, err = self.run_command(
            "config", "set", "RESCRIPTUM_BOOT_TITLE=Rack 4", RESCRIPTUM_ENV_FILE=str(file)
        )
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(file.read_text(), "# mine\nRESCRIPTUM_BOOT_TITLE=Rack 4\n")
        self.assertEqual(file.stat().st_mode & 0o777, 0o640)
        self.assertEqual([each.name for each in self.here.iterdir()], ["env"])

    def test_sets_and_unsets_in_a_toml_file(self) -> None:
        file = self.here / "t.toml"
        file.write_text('# mine\n[boot]\ntitle = "old"  # why\n')
        code, _, _ = self.run_command(
            "--config",
            str(file),
            "config",
            "set",
            "RESCRIPTUM_BOOT_TITLE=Rack 4",
            "RESCRIPTUM_LOG=off",
        )
        self.assertEqual(code, 0)
        self.assertEqual(
            file.read_text(), '# mine\n[boot]\ntitle = "Rack 4"  # why\n\n[log]\nshow = "off"\n'
        )
        self.run_command("--config", str(file), "config", "unset", "RESCRIPTUM_BOOT_TITLE")
        self.assertNotIn("Rack 4", file.read_text())

    def test_a_number_is_a_number_in_toml(self) -> None:
        file = self.here / "t.toml"
        self.run_command("--config", str(file), "config", "set", "RESCRIPTUM_TIMEOUT_SECS=30")
        self.assertEqual(file.read_text(), "[answers]\nseconds = 30\n")

    def test_shows_the_file_that_an_option_named(self) -> None:
        file = self.here / "t.toml"
        file.touch()
        _, out, _ = self.run_command("--config", str(file), "config")
        self.assertRegex(out, rf"RESCRIPTUM_CONFIG +{file} +--config")

    def test_creates_a_file_that_is_named_and_missing(self) -> None:
        file = self.here / "env"
        code, _, _ = self.run_command(
            "config", "set", "RESCRIPTUM_LOG=off", RESCRIPTUM_ENV_FILE=str(file)
        )
        self.assertEqual((code, file.read_text()), (0, "RESCRIPTUM_LOG=off\n"))

    def test_refuses_what_would_not_start_and_loses_nothing(self) -> None:
        file = self.here / "env"
        file.write_text("RESCRIPTUM_LOG=off\n")
        code, _, err = self.run_command(
            "config", "set", "RESCRIPTUM_BOOT_UNCLAIMED=x", RESCRIPTUM_ENV_FILE=str(file)
        )
        self.assertEqual((code, file.read_text()), (1, "RESCRIPTUM_LOG=off\n"))
        self.assertIn(f"{file}:2", err)
        self.assertEqual([each.name for each in self.here.iterdir()], ["env"])

    def test_refuses_unknown_and_repeated_settings(self) -> None:
        for argv, code in (
            (("set", "RESCRIPTUM_NONSENSE=1"), 1),
            (("set", "RESCRIPTUM_CONFIG=/x"), 1),
            (("set", "RESCRIPTUM_LOG=off", "RESCRIPTUM_LOG=all"), 2),
            (("set", "RESCRIPTUM_LOG"), 2),
            (("set",), 2),
            (("unset",), 2),
        ):
            file = self.here / "env"
            got, _, err = self.run_command("config", *argv, RESCRIPTUM_ENV_FILE=str(file))
            self.assertEqual((got, file.exists()), (code, False), argv)
            self.assertTrue(err)

    def test_a_link_stays_a_link(self) -> None:
        """What a configuration's repository points to is what changes."""
        real, link = self.here / "real", self.here / "link"
        real.write_text("RESCRIPTUM_LOG=all\n")
        link.symlink_to("real")
        code, _, _ = self.run_command(
            "config", "set", "RESCRIPTUM_LOG=off", RESCRIPTUM_ENV_FILE=str(link)
        )
        self.assertEqual((code, link.is_symlink()), (0, True))
        self.assertEqual(real.read_text(), "RESCRIPTUM_LOG=off\n")

    def test_a_value_is_one_line(self) -> None:
        """One with a line end would set something else too; one that is no text, nothing."""
        file = self.here / "env"
        for value in ("x\nRESCRIPTUM_LOG=off", "x\x85y", "\udcff"):
            code, _, err = self.run_command(
                "config", "set", f"RESCRIPTUM_BOOT_TITLE={value}", RESCRIPTUM_ENV_FILE=str(file)
            )
            self.assertEqual(code, 1)
            self.assertIn("RESCRIPTUM_BOOT_TITLE: want one line of text", err)
            self.assertFalse(file.exists())

    def test_refuses_a_file_that_is_no_text_or_no_file(self) -> None:
        file = self.here / "env"
        file.write_bytes(b"# caf\xe9\n")
        set_log = ("config", "set", "RESCRIPTUM_LOG=off")
        code, _, err = self.run_command(*set_log, RESCRIPTUM_ENV_FILE=str(file))
        self.assertEqual((code, file.read_bytes()), (1, b"# caf\xe9\n"))
        self.assertIn(f"{file}: not UTF-8", err)
        missing = self.here / "nowhere" / "env"
        code, _, err = self.run_command(*set_log, RESCRIPTUM_ENV_FILE=str(missing))
        self.assertEqual((code, err), (1, f"error: {missing}: No such file or directory\n"))

    def test_says_where_to_write_when_no_file_is_named(self) -> None:
        code, _, err = self.run_command("config", "set", "RESCRIPTUM_LOG=off")
        self.assertEqual(code, 1)
        self.assertIn("RESCRIPTUM_ENV_FILE", err)

    def test_warns_where_the_environment_wins(self) -> None:
        file = self.here / "env"
        _, _, err = self.run_command(
            "config",
            "set",
            "RESCRIPTUM_LOG=off",
            RESCRIPTUM_ENV_FILE=str(file),
            RESCRIPTUM_LOG="all",
        )
        self.assertIn("the environment overrides", err)

    def test_a_token_comes_from_standard_input(self) -> None:
        """Command lines are for everybody to read, and so is what the shell remembers."""
        file = self.here / "env"
        argv = ("config", "set", "RESCRIPTUM_ANSWER_TOKEN=-")
        token = "0123456789abcdef"
        self.patch(sys, "stdin", StringIO(f"{token}\nmore\n"))
        code, out, err = self.run_command(*argv, RESCRIPTUM_ENV_FILE=str(file))
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn(token, out)
        self.assertEqual(file.read_text(), f"RESCRIPTUM_ANSWER_TOKEN={token}\n")
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)

    def test_refuses_a_token_on_the_command_line_or_that_is_none(self) -> None:
        file = self.here / "env"
        for value, line in (("0123456789abcdef", ""), ("-", ""), ("-", "two words"), ("-", "\xe9")):
            self.patch(sys, "stdin", StringIO(line))
            code, _, err = self.run_command(
                "config",
                "set",
                f"RESCRIPTUM_ANSWER_TOKEN={value}",
                RESCRIPTUM_ENV_FILE=str(file),
            )
            self.assertEqual((code, file.exists()), (1, False))
            self.assertIn("RESCRIPTUM_ANSWER_TOKEN: want", err)
            for shown in (line, value):
                self.assertNotIn(shown if len(shown) > 1 else "two words", err)

    def test_unsets_a_token(self) -> None:
        file = self.here / "env"
        file.write_text("RESCRIPTUM_ANSWER_TOKEN=0123456789abcdef\n")
        code, _, _ = self.run_command(
            "config", "unset", "RESCRIPTUM_ANSWER_TOKEN", RESCRIPTUM_ENV_FILE=str(file)
        )
        self.assertEqual((code, file.read_text()[0]), (0, "#"))


class MainTests(CommandCase):
    def test_a_command_is_needed(self) -> None:
        code, _, err = self.run_command()
        self.assertEqual(code, 2)
        self.assertRegex(err, r"error: which one\? .*boot, .*config, .*media, .*render")

    def test_a_wrong_option_is_misuse(self) -> None:
        code, _, err = self.run_command("config", "--nonsense")
        self.assertEqual(code, 2)
        self.assertIn("Usage: rescriptum config", err)

    def test_a_configuration_that_cannot_start_is_exit_code_two(self) -> None:
        code, _, err = self.run_command(
            "boot", "menu", RESCRIPTUM_LOG="x", RESCRIPTUM_TFTP_BLKSIZE="1"
        )
        self.assertEqual(code, 2)
        self.assertEqual(err.count("error: environment: "), 2)

    def test_help_and_version_need_no_configuration(self) -> None:
        for argv in (("--help",), ("config", "--help"), ("--version",)):
            with self.assertRaises(SystemExit) as caught:
                self.run_command(*argv, RESCRIPTUM_LOG="x")
            self.assertIn(caught.exception.code, (0, None))
        self.assertTrue(__version__)
