"""The gateway as an operator starts it, and ``rescriptum gateway …`` against it over real TLS."""

import json
import os
import select
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from tests.processes import ROOT, Process, free_port

_PROGRAM = "from rescriptum.cli.main import run; run()"


class GatewayCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir(parents=True)
        self.port = free_port()
        self.config = self.here / "gateway.toml"
        self.config.write_text(
            f'data_dir = "{self.here}/data"\nlisten = "127.0.0.1:{self.port}"\n'
            'server_names = ["gateway.example"]\n'
        )
        self.config.chmod(0o600)
        self.client = self.here / "client.toml"

    def start(self, *argv: str, **environ: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, "gateway", *argv],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "RESCRIPTUM_GATEWAY_CLIENT": str(self.client),
                **environ,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def command(
        self, *argv: str, code: int = 0, stdin: bytes = b"", **environ: str
    ) -> tuple[str, str]:
        """:returns: both outputs of a command that ends with ``code``."""
        process = self.start(*argv, **environ)
        out, err = process.communicate(stdin, timeout=60)
        self.assertEqual(process.returncode, code, (argv, out, err))
        self.assertNotIn(b"Traceback", err)
        return out.decode(), err.decode()

    def said(self, *argv: str) -> Any:
        return json.loads(self.command(*argv, "--json")[0])

    def init(self) -> Any:
        return json.loads(self.command("init", "--config", str(self.config), "--json")[0])

    def gateway(self) -> Process:
        process = Process(self.here, "gateway", "--config", str(self.config))
        self.addCleanup(process.end)
        process.wait_for("gateway listens on")
        return process


def line(process: "subprocess.Popen[bytes]") -> bytes:
    """:returns: what it says next, within a minute."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 60)
    return process.stdout.readline() if ready else b""


def end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        process.kill()
        process.communicate()


class InitTests(GatewayCase):
    def test_the_first_time(self) -> None:
        """Keys, a database, a token that nobody else can read, and lines for site.toml."""
        out, _ = self.command("init", "--config", str(self.config))
        self.assertIn(f'gateway_url = "https://gateway.example:{self.port}"\n', out)
        self.assertRegex(out, r'(?m)^serving_ca_spki_pin = "sha256/.{43}="$')
        self.assertNotIn("rsop_", out)
        self.assertEqual(stat.S_IMODE(self.client.stat().st_mode), 0o600)
        for path in (self.here / "data").rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_the_second_time(self) -> None:
        """Nothing is made anew."""
        first = self.init()
        kept = self.client.read_text()
        second = self.init()
        self.assertEqual({**first, "created": False}, second)
        self.assertEqual(self.client.read_text(), kept)

    def test_a_token_that_was_lost(self) -> None:
        self.init()
        before = self.client.read_text()
        self.client.unlink()
        argv = ("init", "--config", str(self.config), "--operator", "ann", "--json")
        self.assertTrue(json.loads(self.command(*argv)[0])["created"])
        self.assertNotEqual(self.client.read_text(), before)

    def test_what_cannot_be(self) -> None:
        _, err = self.command("init", "--config", "/nowhere", code=2)
        self.assertIn("/nowhere", err)
        self.config.write_text('listn = "x"\n')
        _, err = self.command("init", "--config", str(self.config), code=2)
        self.assertIn("listen?", err)


class CommandTests(GatewayCase):
    def test_from_nothing_to_a_site(self) -> None:
        """On the gateway's own host the commands just work."""
        pins = self.init()
        _, err = self.command("site", "list", code=1)
        self.assertIn("is it running?", err)
        self.gateway()
        self.command("site", "create", "ber")
        self.assertIn("ber", self.command("site", "list")[0])
        token = self.command("token", "create", "ber")[0].strip()
        self.assertNotIn(token, self.command("token", "list")[0])
        self.command("secret", "set", "bmc", stdin=b"hunter2\n")
        self.assertEqual([each["name"] for each in self.said("secret", "list")["secrets"]], ["bmc"])
        told = self.said("pins")
        self.assertEqual(told["serving_ca_spki_pin"], pins["serving_ca_spki_pin"])
        _, err = self.command("site", "show", "muc", code=1)
        self.assertEqual(
            err, "error: not-found: there is no site 'muc'. List what there is, and compare the "
            "name.\n",
        )  # fmt: skip
        kinds = [each["kind"] for each in self.said("events")["events"]]
        self.assertEqual(kinds, ["operator.created", "site.created", "token.created", "secret.set"])

    def test_whom_it_does_not_talk_to(self) -> None:
        """A token goes to nobody but the gateway that is pinned, under its name."""
        self.init()
        self.gateway()
        wrong = "sha256/" + "A" * 43 + "="
        _, err = self.command("site", "list", "--pin", wrong, code=1)
        self.assertIn("it presents sha256/", err)
        _, err = self.command("site", "list", "--server-name", "other.example", code=1)
        self.assertIn("gateway.example", err)
        _, err = self.command("site", "list", RESCRIPTUM_GATEWAY_TOKEN="rsop_wrong", code=1)
        self.assertIn("error: unauthorized", err)
        _, err = self.command("site", "list", "--gateway", "http://127.0.0.1", code=2)
        self.assertIn("want https://", err)
        _, err = self.command("site", "list", "--gateway", "https://127.0.0.1:1", code=2)
        self.assertIn("no operator's token", err)

    def test_usage(self) -> None:
        for argv, said in ("site", "which one?"), ("token create", "which SITE?"):
            _, err = self.command(*argv.split(), code=2)
            self.assertIn(said, err)
        for argv in "", "site", "token create", "watch", "deploy":
            out, _ = self.command(*argv.split(), "--help")
            self.assertIn("Usage: rescriptum gateway", out)

    def test_following_what_happens(self) -> None:
        self.init()
        self.gateway()
        following = self.start("events", "--follow")
        self.addCleanup(end, following)
        self.assertIn(b"operator.created", line(following))
        self.command("site", "create", "ber")
        self.assertIn(b"site.created", line(following))
        following.send_signal(signal.SIGINT)
        _, err = following.communicate(timeout=60)
        self.assertEqual(following.returncode, 1)
        self.assertEqual(err, b"error: interrupted before it was done\n")

    def test_watching_a_workflow(self) -> None:
        self.init()
        self.gateway()
        self.command("site", "create", "ber")
        self.command("machine", "add", "m1", "ber", "--mac", "bc:24:11:a1:b2:07")
        started = self.said("inspect", "m1")
        watching = self.start("watch", started["id"])
        self.addCleanup(end, watching)
        self.assertIn(b"waits for a site agent", line(watching))
        self.command("workflow", "cancel", started["id"])
        out, _ = watching.communicate(timeout=60)
        self.assertEqual(watching.returncode, 1)
        self.assertTrue(out.endswith(b"is cancelled: cancelled by admin\n"), out)
