"""Tests for ``rescriptum.config`` and the table it reads, ``rescriptum.settings``."""

import os
from pathlib import Path
from typing import NoReturn

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.scripts import Unclaimed
from rescriptum.config import Reading, read
from rescriptum.errors import ConfigError
from rescriptum.settings import BY_PATH, SETTINGS
from rescriptum.sources import MAX_FILE
from rescriptum.values import Listen, Secret, StoreKind

TOKEN = "0123456789abcdef"
ADMIN = {"RESCRIPTUM_ADMIN_ADDR": "127.0.0.1:8002", "RESCRIPTUM_ADMIN_TOKEN": TOKEN}


class ConfigCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp())
        self.here.mkdir()

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        path = self.here / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def problems(self, **environ: str) -> list[str]:
        return [str(each) for each in read(environ).all_problems()]


class DefaultsTests(ConfigCase):
    def test_nothing_set_is_a_configuration(self) -> None:
        """Answers alone are served, from the usual place on the usual port."""
        config = read({}).config()
        self.assertEqual(config.answers.directory, Path("/srv/answers"))
        self.assertEqual(config.answers.listen, Listen("0.0.0.0", 8000))
        self.assertEqual(config.media.listen, Listen("0.0.0.0", 8001))
        self.assertEqual(config.tftp.listen, Listen("0.0.0.0", 69))
        self.assertEqual(config.boot.unclaimed, Unclaimed.MENU)
        self.assertFalse(config.serves_media)
        self.assertEqual(config.answers.store, StoreKind.FILES)
        self.assertEqual(config.answers.database, Path("/srv/answers.db"))
        nothing = config.answers.capture, config.answers.token, config.answers.installed
        self.assertEqual((*nothing, config.admin), (None,) * 4)

    def test_blank_is_unset(self) -> None:
        """An exported but empty variable says nothing."""
        config = read({"RESCRIPTUM_ANSWERS_DIR": "  "}).config()
        self.assertEqual(config.answers.directory, Path("/srv/answers"))


class PrecedenceTests(ConfigCase):
    def test_environment_over_toml_over_file_over_default(self) -> None:
        env_file = self.write(
            "env",
            "RESCRIPTUM_TIMEOUT_SECS=1\nRESCRIPTUM_BOOT_TITLE=file\nRESCRIPTUM_BOOT_TIMEOUT_SECS=7\n",
        )
        toml = self.write("t.toml", '[answers]\nseconds = 2\n[boot]\ntitle = "toml"\n')
        reading = read(
            {
                "RESCRIPTUM_ENV_FILE": str(env_file),
                "RESCRIPTUM_CONFIG": str(toml),
                "RESCRIPTUM_TIMEOUT_SECS": "3",
            }
        )
        config = reading.config()
        self.assertEqual(
            (config.answers.seconds, config.boot.title, config.boot.timeout_seconds), (3, "toml", 7)
        )
        sources = {name: each.source for name, each in reading.values.items()}
        self.assertEqual(sources["RESCRIPTUM_TIMEOUT_SECS"], "environment")
        self.assertEqual(sources["RESCRIPTUM_BOOT_TITLE"], str(toml))
        self.assertEqual(sources["RESCRIPTUM_BOOT_TIMEOUT_SECS"], f"{env_file}:3")

    def test_every_source_can_hold_a_token(self) -> None:
        """Digits that TOML takes for a number included."""
        toml = self.write("t.toml", "[answers]\ntoken = 1234567890123456\n")
        config = read({"RESCRIPTUM_CONFIG": str(toml), **ADMIN}).config()
        assert config.answers.token is not None and config.admin is not None
        self.assertTrue(config.answers.token.matches("1234567890123456"))
        self.assertTrue(config.admin.token.matches(TOKEN))
        self.assertEqual(config.admin.listen, Listen("127.0.0.1", 8002))

    def test_off_is_a_value_and_absent_is_not(self) -> None:
        self.assertIsNone(read({"RESCRIPTUM_TFTP_ADDR": "off"}).config().tftp.listen)


class ProblemTests(ConfigCase):
    def test_tells_all_of_them_with_their_sources(self) -> None:
        """One run, every mistake: nobody mends a configuration one restart a line."""
        env_file = self.write("env", "RESCRIPTUM_LISTEN_ADDR=nonsense\nwhat is this\n")
        found = self.problems(
            RESCRIPTUM_ENV_FILE=str(env_file),
            RESCRIPTUM_BOOT_UNCLAIMED="maybe",
            RESCRIPTUM_TFTP_BLKSIZE="9000",
        )
        self.assertEqual(len(found), 4)
        self.assertTrue(found[0].startswith(f"{env_file}:2: want KEY=value"))
        self.assertIn(f"{env_file}:1: RESCRIPTUM_LISTEN_ADDR", found[1])
        self.assertIn("environment: RESCRIPTUM_BOOT_UNCLAIMED: want one of menu, local", found[2])
        self.assertIn("512 to 1468 bytes", found[3])

    def test_refuses_contradictions(self) -> None:
        """Each of these would start and then do something other than what was asked."""
        nowhere, here = str(self.here / "nowhere"), __file__
        for environ, words in (
            ({"RESCRIPTUM_MEDIA_ADDR": "0.0.0.0:8001"}, "nothing to serve there"),
            ({"RESCRIPTUM_TFTP_ADDR": "0.0.0.0:69"}, "no loaders to hand over"),
            ({"RESCRIPTUM_BOOT_DIR": nowhere}, "no such directory"),
            ({"RESCRIPTUM_TLS_CERT": here}, "needs RESCRIPTUM_TLS_KEY too"),
            ({"RESCRIPTUM_TLS_CERT": nowhere, "RESCRIPTUM_TLS_KEY": here}, "no such file"),
            ({"RESCRIPTUM_TLS_CERT": here, "RESCRIPTUM_TLS_KEY": nowhere}, "no such file"),
            ({"RESCRIPTUM_USER": "no-such-user"}, "no such user"),
            ({"RESCRIPTUM_GROUP": "nogroup"}, "needs RESCRIPTUM_USER too"),
            ({"RESCRIPTUM_CONFIG": nowhere}, "cannot be read"),
            ({"RESCRIPTUM_ENV_FILE": nowhere}, "cannot be read"),
            ({"RESCRIPTUM_BOOT_ALLOW": "10.0.0.1/8"}, "not a network"),
            ({"RESCRIPTUM_TFTP_PORT_RANGE": "5000-4000"}, "above the last"),
            ({"RESCRIPTUM_TFTP_PORT_RANGE": "5000"}, "FIRST-LAST"),
            ({"RESCRIPTUM_BOOT_TITLE": "B\xf6rse"}, "printable ASCII"),
            ({"RESCRIPTUM_BOOT_TITLE": "Rack 4 || 5"}, "iPXE ends a command"),
            ({"RESCRIPTUM_STORE": "etcd"}, "want one of files, sqlite"),
            ({"RESCRIPTUM_CAPTURE_DIR": nowhere}, "no such directory"),
            ({"RESCRIPTUM_ADMIN_ADDR": "127.0.0.1:8002"}, "needs RESCRIPTUM_ADMIN_TOKEN too"),
            ({**ADMIN, "RESCRIPTUM_ADMIN_TOKEN": TOKEN[1:]}, "want 16 characters or more"),
            ({**ADMIN, "RESCRIPTUM_ADMIN_ADDR": "127.0.0.1:8000"}, "taken by the answer listener"),
            ({"RESCRIPTUM_LOG_FILE": "a\0b"}, "one line of text"),
            ({"RESCRIPTUM_ANSWERS_DIR": "a\0b"}, "one line of text"),
        ):
            found = self.problems(**environ)
            self.assertEqual(len(found), 1, (environ, found))
            self.assertIn(words, found[0])

    def test_a_path_that_may_not_be_looked_at_is_a_problem(self) -> None:
        """Somebody who is not root looks at the server's configuration."""

        def refused(*args: object, **kwargs: object) -> NoReturn:
            raise PermissionError(13, "Permission denied")

        self.patch(os, "stat", refused)
        path = str(self.here)
        for name in ("BOOT_DIR", "MEDIA_DIR", "BOOT_LOGO"):
            self.assertEqual(len(self.problems(**{f"RESCRIPTUM_{name}": path})), 1, name)

    def test_listeners_may_not_share_an_address(self) -> None:
        """A wildcard takes every address of its port; port 0 is any free one."""
        base = {"RESCRIPTUM_BOOT_DIR": str(self.here), "RESCRIPTUM_LISTEN_ADDR": "0.0.0.0:8001"}
        self.assertEqual(len(self.problems(**base, RESCRIPTUM_MEDIA_ADDR="127.0.0.1:8001")), 1)
        self.assertEqual(len(self.problems(**base, RESCRIPTUM_MEDIA_ADDR="[::]:8001")), 1)
        self.assertEqual(self.problems(**base, RESCRIPTUM_MEDIA_ADDR="[::1]:8001"), [])
        base["RESCRIPTUM_LISTEN_ADDR"] = "127.0.0.1:0"
        self.assertEqual(self.problems(**base, RESCRIPTUM_MEDIA_ADDR="127.0.0.1:0"), [])

    def test_the_admin_listener_has_an_address_of_its_own(self) -> None:
        """The media listener takes one only where it has something to serve."""
        admin = {**ADMIN, "RESCRIPTUM_ADMIN_ADDR": "127.0.0.1:8001"}
        self.assertEqual(self.problems(**admin), [])
        [found] = self.problems(**admin, RESCRIPTUM_MEDIA_DIR=str(self.here))
        self.assertIn("taken by the media listener on 0.0.0.0:8001", found)
        admin["RESCRIPTUM_ADMIN_ADDR"] = "127.0.0.1:0"
        self.assertEqual(self.problems(**admin, RESCRIPTUM_LISTEN_ADDR="0.0.0.0:0"), [])

    def test_a_token_is_what_a_header_can_carry(self) -> None:
        """The problem says so without showing it."""
        for text in ("two words", "caf\xe9-caf\xe9-caf\xe9-caf", "a\tb", "a\x7fb"):
            for name in ("ANSWER_TOKEN", "INSTALLED_TOKEN", "ADMIN_TOKEN"):
                [found] = self.problems(**{f"RESCRIPTUM_{name}": text})
                self.assertIn("want printable ASCII without blanks", found)
                self.assertNotIn(text, found)

    def test_a_token_is_shown_to_nobody(self) -> None:
        """Whatever is printed of a configuration, by whomever."""
        names = ("ANSWER_TOKEN", "INSTALLED_TOKEN", "ADMIN_TOKEN")
        reading = read({f"RESCRIPTUM_{each}": TOKEN for each in names} | ADMIN)
        self.assertNotIn(TOKEN, repr(reading))
        self.assertNotIn(TOKEN, repr(reading.config()))
        self.assertNotIn(TOKEN, str(reading.config().answers.token))

    def test_a_token_that_can_be_guessed_is_a_warning(self) -> None:
        """Installers may be told nothing longer: it is theirs to choose."""
        for name in ("RESCRIPTUM_ANSWER_TOKEN", "RESCRIPTUM_INSTALLED_TOKEN"):
            [warning] = read({name: TOKEN[1:]}).warnings
            self.assertEqual(
                str(warning), f"environment: {name}: fewer than 16 characters can be guessed"
            )
            self.assertEqual(read({name: TOKEN}).warnings, ())

    def test_an_admin_listener_for_others_without_tls_is_a_warning(self) -> None:
        for address, warned in (
            ("127.0.0.1:8002", False),
            ("127.1.2.3:8002", False),
            ("[::1]:8002", False),
            ("0.0.0.0:8002", True),
            ("[::]:8002", True),
            ("192.0.2.1:8002", True),
            ("nonsense", False),
        ):
            admin = {**ADMIN, "RESCRIPTUM_ADMIN_ADDR": address}
            self.assertEqual(len(read(admin).warnings), warned, address)
            tls = {f"RESCRIPTUM_TLS_{each}": __file__ for each in ("CERT", "KEY")}
            self.assertEqual(read(admin | tls).warnings, ())

    def test_a_public_host_is_a_host(self) -> None:
        """Scheme, path and port are told apart, since each is a different mistake."""
        for text, words in (
            ("http://a", "without a scheme"),
            ("a/b", "without a path"),
            ("a:80", "without a port"),
            ("a b", "an address or a host name"),
            ("a..b", "an address or a host name"),
            ("0.0.0.0", "that machines can be sent to"),
            ("[::]", "that machines can be sent to"),
            ("224.0.0.1", "that machines can be sent to"),
            ("fe80::1%eth0", "that machines can be sent to"),
        ):
            [found] = self.problems(RESCRIPTUM_PUBLIC_HOST=text)
            self.assertIn(words, found)
        config = read({"RESCRIPTUM_PUBLIC_HOST": "[2001:DB8::1]"}).config()
        self.assertEqual(config.public_host, "2001:db8::1")

    def test_an_unknown_setting_is_a_warning_that_names_it(self) -> None:
        toml = self.write("t.toml", "[boot]\nunclaimd = 'local'\n")
        reading = read({"RESCRIPTUM_CONFIG": str(toml), "RESCRIPTUM_MEDIA_DRI": "/x"})
        texts = [str(each) for each in reading.warnings]
        self.assertEqual(
            texts,
            [
                f"{toml}: no such setting: boot.unclaimd",
                "environment: no such setting: RESCRIPTUM_MEDIA_DRI",
            ],
        )
        self.assertEqual(reading.all_problems(), ())

    def test_moving_the_port_that_loaders_know_is_a_warning(self) -> None:
        reading = read({"RESCRIPTUM_MEDIA_ADDR": "0.0.0.0:9001", "RESCRIPTUM_BOOT_DIR": "/"})
        self.assertIn("port 8001", str(reading.warnings[0]))

    def test_a_file_that_others_can_read_is_a_warning(self) -> None:
        env_file = self.write("env", "", mode=0o644)
        [warning] = read({"RESCRIPTUM_ENV_FILE": str(env_file)}).warnings
        self.assertIn("0644", str(warning))

    def test_a_toml_file_that_others_can_read_is_one_where_it_has_a_token(self) -> None:
        """Without one there is nothing in it that others must not know."""
        for text, warned in (
            ('[media]\nlisten = "0.0.0.0:8001"\n', False),
            ('[answers]\ntoken = "0123456789abcdef"\n', True),
        ):
            toml_file = self.write("x.toml", text, mode=0o640)
            found = read({}, toml_file).warnings
            self.assertEqual(["0640" in str(each) for each in found], [True] * warned, text)
            toml_file.chmod(0o600)
            self.assertEqual(read({}, toml_file).warnings, ())

    def test_a_file_is_bounded(self) -> None:
        env_file = self.write("env", "#" * (MAX_FILE + 1))
        [found] = self.problems(RESCRIPTUM_ENV_FILE=str(env_file))
        self.assertIn("larger than", found)

    def test_a_logo_is_bounded(self) -> None:
        """It is kept in memory, and every machine fetches it."""
        logo = self.write("logo.png", "#" * (MAX_FILE + 1))
        [found] = self.problems(RESCRIPTUM_BOOT_LOGO=str(logo))
        self.assertIn("larger than", found)

    def test_toml_that_is_none_names_its_line(self) -> None:
        toml = self.write("t.toml", "[boot\n")
        [found] = self.problems(RESCRIPTUM_CONFIG=str(toml))
        self.assertIn("line 1", found)

    def test_toml_that_is_nested_without_end_is_a_problem(self) -> None:
        toml = self.write("t.toml", "a = " + "[" * 20000)
        [found] = self.problems(RESCRIPTUM_CONFIG=str(toml))
        self.assertIn("not TOML", found)

    def test_a_table_where_a_value_belongs_is_a_warning(self) -> None:
        toml = self.write("t.toml", "[boot.title]\na = 1\n")
        [warning] = read({"RESCRIPTUM_CONFIG": str(toml)}).warnings
        self.assertIn("boot.title.a", str(warning))

    def test_a_list_is_a_value_with_commas(self) -> None:
        toml = self.write("t.toml", '[boot]\nallow = ["10.0.0.0/8", "192.0.2.1"]\n')
        config = read({"RESCRIPTUM_CONFIG": str(toml)}).config()
        self.assertEqual(str(config.boot.allow), "10.0.0.0/8,192.0.2.1/32")


class SecretTests(SynchronousTestCase):
    def test_matches_itself_alone(self) -> None:
        secret = Secret(TOKEN)
        self.assertTrue(secret.matches(TOKEN))
        for other in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\udcff", "\ud800", "caf\xe9"):
            self.assertFalse(secret.matches(other), repr(other))

    def test_prints_as_a_secret(self) -> None:
        self.assertEqual(f"{Secret(TOKEN)} {Secret(TOKEN)!r}", "Secret(…) Secret(…)")
        self.assertEqual(len(Secret(TOKEN)), 16)
        self.assertNotEqual(Secret(TOKEN), Secret(TOKEN))

    @settings(max_examples=200, deadline=None)
    @given(st.text(), st.text())
    def test_any_text_can_be_presented(self, held: str, presented: str) -> None:
        self.assertEqual(Secret(held).matches(presented), held == presented)


class TableTests(SynchronousTestCase):
    def test_every_row_is_its_own(self) -> None:
        self.assertEqual(len({each.variable for each in SETTINGS}), len(SETTINGS))
        self.assertEqual(len(BY_PATH), sum(bool(each.path) for each in SETTINGS))

    def test_every_default_parses(self) -> None:
        for each in SETTINGS:
            if each.default is not None:
                each.parse(each.default)

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from(SETTINGS), st.text())
    def test_any_text_is_a_value_or_a_problem(self, setting: object, text: str) -> None:
        """No parser raises anything but the ValueError that becomes a problem."""
        reading = read({setting.variable: text})  # type: ignore[attr-defined]
        self.assertIsInstance(reading, Reading)
        try:
            reading.config()
        except ConfigError as e:
            self.assertTrue(e.problems)
