"""Tests for ``rescriptum.gateway.config``."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.errors import ConfigError
from rescriptum.gateway.config import LONGEST, ROWS, Config, read
from rescriptum.gateway.keyring import ROWS as FILES
from rescriptum.gateway.store import CERTIFICATE
from rescriptum.values import Listen

PAGE = Path(__file__).parent.parent / "docs" / "gateway.md"


class ConfigTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir(parents=True)
        self.file = self.here / "gateway.toml"

    def config(self, text: str) -> Config:
        self.file.write_text(text)
        return read(self.file).config

    def problems(self, text: str) -> list[str]:
        self.file.write_text(text)
        error = self.assertRaises(ConfigError, read, self.file)
        return [str(each).removeprefix(str(self.file)) for each in error.problems]

    def test_nothing_needs_to_be_said(self) -> None:
        config = read(None).config
        self.assertEqual(config.data_dir, Path("/var/lib/rescriptum-gateway"))
        self.assertEqual(config.listen, Listen("0.0.0.0", 8443))
        self.assertEqual(config.database_url, "sqlite:////var/lib/rescriptum-gateway/gateway.db")
        self.assertEqual((config.heartbeat_ms, config.events_days), (5000, 7))
        self.assertEqual((config.server_names, config.own), ((), None))
        self.assertEqual(config, self.config(""))

    def test_the_command_line_says_where_the_data_is(self) -> None:
        self.file.write_text('data_dir = "/somewhere"\n')
        config = read(self.file, self.here / "data").config
        self.assertEqual(config.data_dir, self.here / "data")
        self.assertEqual(config.database_url, f"sqlite:///{self.here}/data/gateway.db")

    def test_every_key_is_read(self) -> None:
        for name in ("cert.pem", "key.pem"):
            (self.here / name).write_text("")
        text = (
            'data_dir = "/data"\nlisten = "[::1]:1"\nserver_names = ["Gateway.example", "::1"]\n'
            'database_url = "postgresql://u:hush@h/d"\nheartbeat_ms = 1000\n'
            f'certificate = "{self.here}/cert.pem"\nkey = "{self.here}/key.pem"\n'
            'sessions = 1\nevents_days = 2\nlog = "off"\nlog_file = "/log"\n'
        )
        config = self.config(text)
        self.assertEqual(
            {row.key for row in ROWS}, {line.split(" ")[0] for line in text.splitlines()}
        )
        self.assertEqual(config.server_names, ("gateway.example", "::1"))
        self.assertEqual(config.own, (self.here / "cert.pem", self.here / "key.pem"))
        self.assertEqual((config.sessions, config.events_days), (1, 2))
        self.assertNotIn("hush", repr(config))

    def test_every_problem_is_told_with_its_line(self) -> None:
        text = (
            '\nlisten = "8443"\nheartbeat_ms = "5"\ndatabase_urll = "x"\nlog = 1\n[site]\na = 1\n'
        )
        self.assertEqual(
            self.problems(text),
            [
                ":4: database_urll: no such key; database_url?",
                ":6: site: no such key",
                ":2: listen: not ADDRESS:PORT: '8443'",
                ":3: heartbeat_ms: want a whole number from 100 to 20000",
                ":5: log: want one of all, problems, off",
            ],
        )

    def test_values_that_are_none(self) -> None:
        for text, problem in (
            ('data_dir = "data"', "data_dir: want an absolute path, not 'data'"),
            ("data_dir = 1", "data_dir: want one line of text"),
            ('data_dir = "/a\\u0000"', "data_dir: want one line of text"),
            ("sessions = true", "sessions: want a whole number from 1 to 100000"),
            ('server_names = "x"', "server_names: want a list of up to 64 names"),
            ('server_names = ["x:1/"]', "server_names: want names and addresses without port"),
            ("heartbeat_ms = 99", "heartbeat_ms: want a whole number from 100 to 20000"),
        ):
            [told] = self.problems(text)
            self.assertTrue(told.startswith(f":1: {problem}"), told)

    def test_certificate_and_key_belong_together(self) -> None:
        (self.here / "cert.pem").write_text("")
        told = self.problems(f'certificate = "{self.here}/cert.pem"')
        self.assertEqual(told, [":1: certificate: needs key too"])
        told = self.problems(f'certificate = "{self.here}/cert.pem"\nkey = "/no/such"')
        self.assertEqual(told, [":2: key: no such file: /no/such"])

    def test_files_that_cannot_be_read(self) -> None:
        self.assertIn("cannot be read", str(self.assertRaises(ConfigError, read, self.here)))
        self.file.write_bytes(b"#" * (LONGEST + 1))
        self.assertIn(
            f"larger than {LONGEST}", str(self.assertRaises(ConfigError, read, self.file))
        )
        self.file.write_bytes(b"#" * LONGEST)
        read(self.file)
        self.assertIn("not TOML", self.problems("x")[0])

    @settings(max_examples=200)
    @given(st.binary(max_size=200))
    def test_whatever_a_file_holds(self, data: bytes) -> None:
        self.file.write_bytes(data)
        try:
            read(self.file)
        except ConfigError as e:
            self.assertTrue(e.problems)

    def test_files_that_too_many_can_read_are_told(self) -> None:
        self.file.write_text('database_url = "postgresql://u:p@h/d"\n')
        self.file.chmod(0o644)
        data = self.here / "data"
        data.mkdir(mode=0o755)
        data.chmod(0o755)
        told = [str(each) for each in read(self.file, data).warnings]
        self.assertEqual(
            told,
            [
                f"{data}: others can read it (mode 0755); want 0700",
                f"{self.file}: others can read it (mode 0644); want 0640",
            ],
        )
        self.file.chmod(0o640)
        data.chmod(0o700)
        self.assertEqual(read(self.file, data).warnings, ())


class PageTests(SynchronousTestCase):
    def test_the_page_has_every_key(self) -> None:
        """In the order of the table, with its default and its sentence."""
        lines = iter(PAGE.read_text().splitlines())
        for line in lines:
            if line.startswith("| key |"):
                break
        next(lines)
        told = []
        for line in lines:
            if not line.startswith("| "):
                break
            told.append([cell.strip() for cell in line.strip("|").split("|")])
        wanted = [
            [f"`{row.key}`", "unset" if row.default is None else f"`{row.default}`", row.help]
            for row in ROWS
        ]
        self.assertEqual(told, wanted)

    def test_the_page_has_every_key_file(self) -> None:
        page = PAGE.read_text()
        for row in FILES:
            self.assertIn(f"| `{row.file}` | {row.purpose} |", page)
        self.assertIn(f"`{CERTIFICATE}`", page)
