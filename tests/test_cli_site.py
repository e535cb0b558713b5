"""Tests for ``rescriptum site``: what people are told of the agent on this host."""

import json
import shutil
import socket
import tempfile
import threading
from io import StringIO
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.main import main
from rescriptum.cli.site import Fields, as_text

STATUS: Fields = {
    "version": "1",
    "role": "site",
    "site": "lyon",
    "gateway": "https://gw.example",
    "node_id": "n-7",
    "session": {"state": "live", "name": "s-1", "trouble": ""},
    "lease": {"active": True, "epoch": 3, "heard_ms_ago": 1240},
    "late_answers": 0,
    "desired_version": 12,
    "sections": [{"name": "site", "state": "ready", "reason": "", "detail": {}}],
    "journal": {"waiting": 1, "unacknowledged": 2},
}


class TextTests(SynchronousTestCase):
    def test_all_is_well(self) -> None:
        self.assertEqual(
            as_text(STATUS),
            "site      lyon, node n-7\n"
            "gateway   https://gw.example\n"
            "session   live (s-1)\n"
            "lease     active, epoch 3, proved 1.2 s ago\n"
            "desired   version 12\n"
            "journal   1 commands to be run, 2 results to be told\n"
            "section   site ready\n",
        )

    def test_all_is_not(self) -> None:
        """What is wrong is said, and nothing of it moves a cursor."""
        section = {"name": "site", "state": "failed", "reason": "no\x1b[2Jdisk", "detail": {}}
        text = as_text(
            {
                **STATUS,
                "node_id": None,
                "session": {"state": "waiting", "name": None, "trouble": "no session: down"},
                "lease": {"active": False, "epoch": 0, "heard_ms_ago": None},
                "late_answers": 2,
                "desired_version": None,
                "sections": [section],
                "journal": {"trouble": "the disk is full"},
            }
        )
        for line in (
            "site      lyon, node - (not joined)\n",
            "session   waiting\n",
            "lease     standby\n",
            "          2 answers left as the fence closed\n",
            "desired   nothing yet\n",
            "journal   the disk is full\n",
            "trouble   no session: down\n",
            "section   site failed: no\\x1b[2Jdisk\n",
        ):
            self.assertIn(line, text)

    def test_a_boot_server(self) -> None:
        """Each listener, how many machines nobody prepared for, and the cache with its troubles."""
        listening = {"state": "listening", "reason": ""}
        failed = {"state": "failed", "reason": "Address already in use"}
        trouble = {"sha256": "ab" * 32, "code": "disk-full", "reason": "no room"}
        detail: Fields = {
            "boot": {"http": listening, "tftp": failed, "dhcp": {"state": "off", "reason": ""}},
            "cache": {
                "bytes": 10, "budget": 20, "ready": 1, "pulling": 2, "failed": 1,
                "troubles": [trouble],
            },
            "discovered": 3,
        }  # fmt: skip
        section = {"name": "site", "state": "failed", "reason": "", "detail": detail}
        text = as_text({**STATUS, "sections": [section]})
        self.assertTrue(
            text.endswith(
                "section   site failed\n"
                "boot      http listening, tftp failed: Address already in use, dhcp off;"
                " 3 machines discovered\n"
                "cache     1 images, 10 of 20 bytes; 2 on their way, 1 failed\n"
                "          abababababab: disk-full: no room\n"
            )
        )
        for cache in (None, {"code": "unavailable"}):
            detail["cache"] = cache
            self.assertNotIn("cache", as_text({**STATUS, "sections": [section]}))

    def test_proxy_dhcp(self) -> None:
        """What was learnt and how to keep it; other servers, and the line to remove; how many."""
        learnt = {"mac": "52:54:00:12:34:56", "architecture": "efi64", "strategy": "bounce"}
        unknown = {**learnt, "architecture": "", "mac": "52:54:00:12:34:57"}
        foreign = {
            "server": "192.0.2.1", "code": "boot-file", "reason": "it names one too",
            "cure": "remove\x1b 'dhcp-boot='",
        }  # fmt: skip
        listening = {"state": "listening", "reason": ""}
        dhcp: Fields = {
            "learnt": [learnt, unknown], "learnt_of": 2, "foreign": [foreign], "foreign_of": 1,
        }  # fmt: skip
        detail: Fields = {"boot": {"dhcp": listening}, "discovered": 0, "dhcp": dhcp}
        section = {"name": "site", "state": "ready", "reason": "", "detail": detail}
        told = {**STATUS, "sections": [section]}
        said = (
            "learnt    52:54:00:12:34:56 (efi64) takes offers by bounce;"
            " 52:54:00:12:34:56=bounce in [boot] offers makes that last\n"
            "learnt    52:54:00:12:34:57 takes offers by bounce;"
            " 52:54:00:12:34:57=bounce in [boot] offers makes that last\n"
        )
        other = "foreign   192.0.2.1 boot-file: it names one too; remove\\x1b 'dhcp-boot='\n"
        self.assertTrue(as_text(told).endswith(said + other))
        dhcp |= {"learnt_of": 5, "foreign_of": 3}
        more = "          and 3 more machines before these\n"
        self.assertIn(f"{said}{more}{other}          and 2 more before these\n", as_text(told))

    def test_leases(self) -> None:
        for lease, said in (
            ((False, 3, None), "not active, epoch 3: not proved yet"),
            ((False, 3, 20_000), "not active, epoch 3, proved 20.0 s ago"),
        ):
            fields = dict(zip(("active", "epoch", "heard_ms_ago"), lease, strict=True))
            self.assertIn(f"lease     {said}\n", as_text({**STATUS, "lease": fields}))

    def test_without_a_journal(self) -> None:
        """Before it has joined there is none to speak of."""
        self.assertNotIn("journal", as_text({**STATUS, "journal": None}))


class StatusTests(SynchronousTestCase):
    def setUp(self) -> None:
        # Not trial's own: the path of a socket has to be short.
        self.here = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.here)

    def run_status(self, *argv: str) -> tuple[int, str, str]:
        out, err = StringIO(), StringIO()
        code = main(["site", "status", "--data-dir", str(self.here), *argv], {}, out, err)
        return code, out.getvalue(), err.getvalue()

    def answering(self, reply: bytes) -> None:
        """An agent that says ``reply`` once."""
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(self.here / "agent.sock"))
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        self.addCleanup(server.close)
        self.addCleanup(thread.join)

    def test_for_people_and_programs(self) -> None:
        """Also while the agent is in trouble: exit code 0, it answers."""
        body = json.dumps(STATUS).encode()
        reply = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        self.answering(reply)
        self.assertEqual(self.run_status(), (0, as_text(STATUS), ""))
        (self.here / "agent.sock").unlink()
        self.answering(reply)
        code, out, _ = self.run_status("--json")
        self.assertEqual((code, json.loads(out)), (0, STATUS))

    def test_no_agent(self) -> None:
        """Exit code 1, and where nobody listens; also on a socket that a killed one has left."""
        code, out, err = self.run_status()
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"error: no site agent runs: nobody listens on {self.here}", err)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(self.here / "agent.sock"))
        self.assertIn("no site agent runs", self.run_status()[2])

    def test_not_an_agent(self) -> None:
        """Whatever answers: exit code 1 and one line."""
        for reply in (b"SSH-2.0\r\n", b"HTTP/1.0 200 OK\r\n\r\n[", b"HTTP/1.0 404 No\r\n\r\n{}"):
            self.answering(reply)
            code, _, err = self.run_status()
            self.assertEqual(code, 1)
            self.assertEqual(len(err.splitlines()), 1, err)
            (self.here / "agent.sock").unlink()

    def test_the_configuration(self) -> None:
        """Without --data-dir the agent's file says where: exit code 2 where it does not."""
        out, err = StringIO(), StringIO()
        code = main(["site", "status", "--config", str(self.here / "none")], {}, out, err)
        self.assertEqual(code, 2)
        self.assertIn("cannot be read", err.getvalue())
        code = main(["site"], {}, out, err)
        self.assertEqual(code, 2)
