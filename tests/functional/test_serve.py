"""The whole boot server as an operator starts it: ``twistd -n rescriptum``."""

import os
import pwd
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from rescriptum.roles.root import DESCRIPTORS
from tests.processes import ROOT, Process, free_port

MAC = "52:54:00:12:34:56"


def get(url: str, context: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=10, context=context) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as e:
        with e:
            return e.code, e.read()


def read_by_tftp(port: int, name: str) -> bytes:
    """:returns: a file of less than 512 bytes, or the text of the error."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(10)
        client.sendto(b"\0\1" + name.encode() + b"\0octet\0", ("127.0.0.1", port))
        reply, server = client.recvfrom(600)
        if reply[:2] == b"\0\3":
            client.sendto(b"\0\4\0\1", server)
        return reply[4:]


class ServeCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        machine = self.here / "answers" / MAC.replace(":", "-")
        machine.mkdir(parents=True)
        (machine / "boot.ipxe").write_text("#!ipxe\necho {{ mac }}\n")
        (self.here / "media").mkdir()
        (self.here / "boot").mkdir()
        (self.here / "boot" / "ipxe-x86_64.efi").write_bytes(b"MZ" + b"\0" * 98)
        self.answers, self.media = free_port(), free_port()
        self.tftp = free_port(socket.SOCK_DGRAM)
        self.environ = {
            "RESCRIPTUM_ANSWERS_DIR": str(self.here / "answers"),
            "RESCRIPTUM_MEDIA_DIR": str(self.here / "media"),
            "RESCRIPTUM_BOOT_DIR": str(self.here / "boot"),
            "RESCRIPTUM_PUBLIC_HOST": "127.0.0.1",
            "RESCRIPTUM_LISTEN_ADDR": f"127.0.0.1:{self.answers}",
            "RESCRIPTUM_MEDIA_ADDR": f"127.0.0.1:{self.media}",
            "RESCRIPTUM_TFTP_ADDR": f"127.0.0.1:{self.tftp}",
        }

    def serve(self, *argv: str, **changes: str) -> Process:
        process = Process(self.here, *argv, **{**self.environ, **changes})
        self.addCleanup(process.end)
        return process


class ChainTests(ServeCase):
    def test_a_machine_walks_from_loader_to_answer(self) -> None:
        """Each link names the next one, and each leaves its line in the log."""
        server = self.serve()
        server.wait_for("tftp listens on")
        self.assertTrue(read_by_tftp(self.tftp, "ipxe-x86_64.efi").startswith(b"MZ"))
        script = read_by_tftp(self.tftp, "autoexec.ipxe").decode()
        self.assertIn(f"http://${{next-server}}:{self.media}/ipxe/bootstrap", script)
        _, bootstrap = get(f"http://127.0.0.1:{self.media}/ipxe/bootstrap?mac={MAC}")
        answer, menu = re.findall(r"http://127\.0\.0\.1:\d+/ipxe/\w+", bootstrap.decode())
        self.assertEqual(get(f"{answer}?mac={MAC}"), (200, f"#!ipxe\necho {MAC}\n".encode()))
        self.assertEqual(get(f"{answer}?mac=02:00:00:00:00:01")[0], 404)
        status, text = get(f"{menu}?mac={MAC}")
        self.assertEqual((status, text[:7]), (200, b"#!ipxe\n"))
        loader = f"http://127.0.0.1:{self.media}/boot/ipxe-x86_64.efi"
        self.assertEqual(len(get(loader)[1]), 100)
        for line in (
            r"tftp: ipxe-x86_64.efi requested",
            r"tftp: ipxe-x86_64.efi sent bytes=100",
            r"media: bootstrap bytes=\d+",
            r"GET /ipxe/boot\?mac=52:54:00:12:34:56 body=0 200 format=text machine=52-54",
            r"GET /ipxe/boot\?mac=02:00:00:00:00:01 body=0 404",
            r"media: menu bytes=\d+",
            r"http: ipxe-x86_64.efi sent bytes=100",
        ):
            server.wait_for(line, 5)
        self.assertEqual(server.end(), 0)
        self.assertNotIn("Traceback", server.text)

    def test_answers_alone(self) -> None:
        """Without images and loaders there is one listener, and it needs no privilege."""
        server = self.serve(
            RESCRIPTUM_MEDIA_DIR="",
            RESCRIPTUM_BOOT_DIR="",
            RESCRIPTUM_MEDIA_ADDR="",
            RESCRIPTUM_TFTP_ADDR="",
        )
        server.wait_for("answers listens on")
        self.assertEqual(get(f"http://127.0.0.1:{self.answers}/health"), (200, b"OK\n"))
        self.assertNotIn("media listens", server.text)


class StartTests(ServeCase):
    def test_a_broken_configuration_is_exit_code_two(self) -> None:
        """Every problem, no traceback, nothing bound."""
        server = self.serve(RESCRIPTUM_TFTP_BLKSIZE="1", RESCRIPTUM_BOOT_UNCLAIMED="x")
        self.assertEqual(server.exited(), 2)
        self.assertEqual(server.text.count("error: environment: "), 2)
        self.assertNotIn("Traceback", server.text)

    def test_a_log_that_cannot_be_written_is_exit_code_two(self) -> None:
        server = self.serve(RESCRIPTUM_LOG_FILE="/dev/null/log")
        self.assertEqual(server.exited(), 2)
        self.assertIn("error: RESCRIPTUM_LOG_FILE: cannot open", server.text)

    def test_a_taken_http_port_is_exit_code_one(self) -> None:
        with socket.create_server(("127.0.0.1", self.media)):
            server = self.serve()
            self.assertEqual(server.exited(), 1)
        self.assertIn("error: media: cannot listen on", server.text)
        self.assertNotIn("error: error:", server.text)
        self.assertNotIn("Traceback", server.text)

    def test_why_it_did_not_start_is_told_where_no_log_is(self) -> None:
        """In the log where there is one, and on standard error always."""
        log = self.here / "lines"
        with socket.create_server(("127.0.0.1", self.media)):
            for changes in ({"RESCRIPTUM_LOG": "off"}, {"RESCRIPTUM_LOG_FILE": str(log)}):
                server = self.serve(**changes)
                self.assertEqual(server.exited(), 1)
                self.assertIn("error: media: cannot listen on", server.text)
        self.assertIn("error: media: cannot listen on", log.read_text())

    def test_tells_what_it_cannot_read_before_a_machine_asks(self) -> None:
        """As the user that it became: to root everything can be read."""
        if os.geteuid() != 0:
            raise SkipTest("only root can become somebody else")
        for path in [self.here, *self.here.rglob("*")]:
            path.chmod(0o755)
        for name in ("answers", "media", "boot"):
            (self.here / name).chmod(0o700)
        server = self.serve(RESCRIPTUM_USER="nobody")
        server.wait_for(r"warn: answers: \S+/answers: Permission denied")
        for name in ("media", "boot"):
            server.wait_for(rf"warn: {name}: \S+/{name}: user nobody cannot read it")

    def test_a_hangup_ends_nothing(self) -> None:
        """What rotates logs or reloads a unit sends it; without a certificate it means nothing."""
        server = self.serve()
        server.wait_for("tftp listens on")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("SIGHUP: nothing to read again")
        self.assertEqual(get(f"http://127.0.0.1:{self.answers}/health")[0], 200)

    def test_a_taken_http_port_ends_a_daemon_too(self) -> None:
        """twistd in the background: the command that started it comes back, and says no."""
        with socket.create_server(("127.0.0.1", self.media)):
            command = [sys.executable, "-c", "from twisted.scripts.twistd import run; run()"]
            started = subprocess.run(
                [*command, f"--pidfile={self.here}/pid", "rescriptum"],
                env={**os.environ, "PYTHONPATH": str(ROOT), **self.environ},
                cwd=self.here,
                capture_output=True,
                timeout=30,
                check=False,
            )
        self.assertEqual(started.returncode, 1)
        self.assertIn(b"cannot listen on", started.stderr + started.stdout)

    def test_a_taken_tftp_port_is_survived(self) -> None:
        """Answers are the product: a second daemon on port 69 does not end them."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as squatter:
            squatter.bind(("127.0.0.1", self.tftp))
            server = self.serve()
            server.wait_for("media listens on")
            server.wait_for("No TFTP on 127.0.0.1")
            self.assertEqual(get(f"http://127.0.0.1:{self.answers}/health")[0], 200)

    def test_a_toml_file_by_option(self) -> None:
        file = self.here / "t.toml"
        file.write_text('[boot]\nunclaimed = "local"\n')
        server = self.serve("--config", str(file))
        server.wait_for("media listens on")
        _, bootstrap = get(f"http://127.0.0.1:{self.media}/ipxe/bootstrap")
        self.assertTrue(bootstrap.endswith(b"|| exit\n"))

    def test_the_role_by_its_name(self) -> None:
        server = self.serve("serve")
        server.wait_for("answers listens on")

    def test_may_open_what_the_settings_allow(self) -> None:
        """A shell's soft limit of 1024 files is less than one listener's connections."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        server = self.serve()
        server.wait_for("answers listens on")
        limits = Path(f"/proc/{server.process.pid}/limits").read_text()
        found = re.search(r"Max open files +(\d+)", limits)
        assert found is not None
        self.assertEqual(int(found[1]), min(hard, DESCRIPTORS))

    def test_becomes_the_user_after_binding(self) -> None:
        if os.geteuid() != 0:
            raise SkipTest("only root can become somebody else")
        for path in [self.here, *self.here.rglob("*")]:
            path.chmod(0o755)
        server = self.serve(RESCRIPTUM_USER="nobody")
        server.wait_for("answers listens on")
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        uid = str(pwd.getpwnam("nobody").pw_uid)
        self.assertRegex(status, rf"Uid:\s+{uid}\s+{uid}\s+{uid}")


class TLSTests(ServeCase):
    def certificate(self, name: str) -> None:
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
                *("-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"),
                *("-keyout", str(self.here / "key.pem"), "-out", str(self.here / "cert.pem")),
            ],
            check=True,
            capture_output=True,
        )

    def subject(self) -> object:
        pem = ssl.get_server_certificate(("127.0.0.1", self.answers))
        shown = subprocess.run(
            ["openssl", "x509", "-noout", "-subject"],
            input=pem.encode(),
            check=True,
            capture_output=True,
        )
        return shown.stdout.decode().strip()

    def test_serves_over_tls_and_reads_a_renewed_certificate(self) -> None:
        """Both listeners speak TLS, scripts name https, and SIGHUP takes a new certificate up."""
        self.certificate("first")
        server = self.serve(
            RESCRIPTUM_TLS_CERT=str(self.here / "cert.pem"),
            RESCRIPTUM_TLS_KEY=str(self.here / "key.pem"),
        )
        server.wait_for("media listens on")
        trusted = ssl.create_default_context(cafile=str(self.here / "cert.pem"))
        _, bootstrap = get(f"https://127.0.0.1:{self.media}/ipxe/bootstrap", trusted)
        self.assertIn(f"https://127.0.0.1:{self.answers}/ipxe/boot", bootstrap.decode())
        self.assertIn("first", str(self.subject()))
        self.certificate("second")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("certificate read again")
        self.assertIn("second", str(self.subject()))
        (self.here / "key.pem").write_text("nonsense")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("old certificate kept")
        self.assertIn("second", str(self.subject()))

    def test_a_key_that_is_none_is_exit_code_one(self) -> None:
        self.certificate("first")
        (self.here / "key.pem").write_text("nonsense")
        server = self.serve(
            RESCRIPTUM_TLS_CERT=str(self.here / "cert.pem"),
            RESCRIPTUM_TLS_KEY=str(self.here / "key.pem"),
        )
        self.assertEqual(server.exited(), 1)
        self.assertRegex(server.text, r"error: .*key\.pem: no private key")
        self.assertNotIn("Traceback", server.text)
