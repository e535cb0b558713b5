"""Tests for ``rescriptum.cli.gateway.reach``: which gateway, whose token, which key."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.gateway.reach import Reach, client_file, reached, written
from rescriptum.errors import ConfigError

KEPT = Reach("https://gateway.example:8443", "rsop_kept", ("sha256/a", "sha256/b"), "gw")


class ReachTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.file = Path(self.mktemp())
        self.environ = {"RESCRIPTUM_GATEWAY_CLIENT": str(self.file)}

    def keep(self, text: str = "", mode: int = 0o600) -> None:
        self.file.write_text(text or written(KEPT))
        self.file.chmod(mode)

    def wrong(self, *given: str | None, **environ: str) -> str:
        error = self.assertRaises(ConfigError, reached, {**self.environ, **environ}, *given)
        return str(error)

    def test_what_init_wrote_down(self) -> None:
        self.keep()
        self.assertEqual(reached(self.environ), KEPT)

    def test_nothing_at_all(self) -> None:
        """What is missing, and how to give it: all of it at once."""
        told = self.wrong()
        self.assertIn("give --gateway URL, or set RESCRIPTUM_GATEWAY_URL", told)
        self.assertIn("gateway init", told)
        self.assertIn("--token-file", told)

    def test_the_command_line_over_the_environment_over_the_file(self) -> None:
        self.keep()
        token = Path(self.mktemp())
        token.write_text("rsop_file\n")
        environ = {**self.environ, "RESCRIPTUM_GATEWAY_TOKEN": "rsop_env"}
        self.assertEqual(reached(environ).token, "rsop_env")
        self.assertEqual(reached(environ, None, str(token)).token, "rsop_file")
        self.assertEqual(reached(environ, None, None, "sha256/c").pins, ("sha256/c",))
        self.assertEqual(reached(environ, None, None, None, "other").server_name, "other")

    def test_another_gateway_gets_nothing_of_the_one_in_the_file(self) -> None:
        """Neither its token nor its pin nor its name."""
        self.keep()
        self.assertIn("no operator's token", self.wrong("https://other.example"))
        environ = {**self.environ, "RESCRIPTUM_GATEWAY_TOKEN": "rsop_env"}
        found = reached(environ, "https://other.example/")
        self.assertEqual(found, Reach("https://other.example", "rsop_env", (), "other.example"))
        environ["RESCRIPTUM_GATEWAY_URL"] = "https://third.example:1"
        self.assertEqual(reached(environ).server_name, "third.example")

    def test_a_token_never_goes_out_in_the_clear(self) -> None:
        for url in (
            "http://gateway.example",
            "gateway.example",
            "https://",
            "ftp://x",
            "https://x:99999",
            "https://x:y",
            "https://[::1",
            "https://\u00e9.example",
            "https://user:password@x",
            "https://x/?a",
            "https://x/api/v1",
        ):
            self.assertIn("want https://", self.wrong(url, RESCRIPTUM_GATEWAY_TOKEN="x"))

    def test_addresses(self) -> None:
        for url in "https://gateway.example:8443/", "https://[::1]:8443", "https://192.0.2.1":
            found = reached({**self.environ, "RESCRIPTUM_GATEWAY_TOKEN": "x"}, url)
            self.assertEqual(found.url, url.rstrip("/"))

    def test_a_file_that_others_can_read(self) -> None:
        self.keep(mode=0o640)
        self.assertIn("mode 0640", self.wrong())

    def test_a_file_that_is_none(self) -> None:
        """Nothing of what is in it is said."""
        self.keep('token = "rsop_secret\n')
        self.assertNotIn("rsop_secret", self.wrong())
        self.keep('tokn = "x"\n')
        self.assertIn("no such key: 'tokn'", self.wrong())
        self.file.unlink()
        self.file.mkdir()
        self.assertIn("cannot be read", self.wrong())

    def test_tokens_that_are_none(self) -> None:
        path = Path(self.mktemp())
        for data in b"", b"\n", b"\xff", b"a b", "\u00e9".encode(), b"a\nb":
            path.write_bytes(data)
            self.assertIn("token", self.wrong("https://gateway.example", str(path)))
        self.assertIn("cannot be read", self.wrong("https://gateway.example", "/nowhere"))

    def test_where_it_is(self) -> None:
        self.assertEqual(
            client_file({"HOME": "/home/ann"}), Path("/home/ann/.config/rescriptum/client.toml")
        )
        self.assertEqual(
            client_file({"HOME": "/home/ann", "XDG_CONFIG_HOME": "/c"}),
            Path("/c/rescriptum/client.toml"),
        )

    def test_no_token_is_printed(self) -> None:
        self.assertNotIn("rsop_kept", repr(KEPT))
