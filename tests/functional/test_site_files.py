"""What a site's boot server hands over, and how it fares when its files go: as a process."""

import socket
import sys
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from rescriptum.tftp.wire import Acknowledgement, Data, Error, ReadRequest, decode
from tests.agentprocess import AgentProcess
from tests.functional.test_site_boot import MAC, BootCase

IMAGE = bytes(range(256)) * 4096
SHA = sha256(IMAGE).hexdigest()
LOOKING = [sys.executable, "-m", "tests.boot_entry"]


class _Image(BaseHTTPRequestHandler):
    """A server that has one image."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(IMAGE)))
        self.end_headers()
        self.wfile.write(IMAGE)

    def log_message(self, *args: object) -> None:
        """Nothing."""


class FilesCase(BootCase):
    def source(self) -> str:
        """:returns: the URL of the image."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Image)
        thread = Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}/image"

    def prepare(self, agent: AgentProcess, **payload: str) -> None:
        body = {"mac": MAC, **payload}
        sent = self.gateway.operate(
            "POST",
            "commands",
            {"node": self.node(), "kind": "boot.prepareRamdisk", "payload": body},
        )
        agent.until(lambda: self.state(str(sent["id"])) == "done")

    def tftp(self, name: bytes) -> bytes | Error:
        """:returns: a file, block by block, as ROMs without options fetch it."""
        got = b""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(10)
            client.sendto(ReadRequest(name).encode(), ("127.0.0.1", self.tftp_ports["a"]))
            while True:
                datagram, peer = client.recvfrom(2048)
                message = decode(datagram)
                if isinstance(message, Error):
                    return message
                assert isinstance(message, Data), message
                if message.number == (len(got) // 512 + 1) & 0xFFFF:
                    got += message.payload
                client.sendto(Acknowledgement(message.number).encode(), peer)
                if len(message.payload) < 512:
                    return got

    def part(self, name: str) -> dict[str, str]:
        boot = self.section()["boot"]
        assert isinstance(boot, dict)
        found: dict[str, str] = boot[name]
        return found


class HandedOverTests(FilesCase):
    def test_an_image_out_of_the_cache(self) -> None:
        """
        A sanboot entry waits for its image; then the script names it under a grant, and firmware
        reads it by ranges. The grant goes with the entry.
        """
        agent = self.boots(token=self.gateway.token())
        agent.until(self.active, 90)
        self.prepare(agent, kind="sanboot", sanboot_sha256=SHA)
        self.assertIn("The image is not at this site yet.", self.script())
        image = {"name": "i", "sha256": SHA, "url": self.source(), "sites": ["lab"]}
        self.gateway.operate("POST", "images", image)
        agent.until(lambda: "sanboot" in self.script())
        lines = self.script().splitlines()
        url = f"http://127.0.0.1:{self.ports['a']}"
        self.assertEqual((lines[0], len(lines)), ("#!ipxe", 2))
        words = lines[1].split()
        self.assertEqual(words[:2], ["sanboot", "--no-describe"])
        where, _, name = words[2].rpartition("/")
        self.assertTrue(where.startswith(f"{url}/cache/t/"))
        self.assertEqual(name, SHA)
        path = words[2].removeprefix(url)
        piece = self.ask(path, Range="bytes=32768-34815")
        assert piece is not None
        self.assertEqual((piece.status, len(piece.text)), (206, 2048))
        self.assertEqual(piece.headers["Content-Range"], f"bytes 32768-34815/{len(IMAGE)}")
        whole = self.ask(path)
        assert whole is not None
        self.assertEqual((whole.status, whole.headers["ETag"]), (200, piece.headers["ETag"]))
        self.assertEqual(whole.text.encode("latin-1"), IMAGE)
        sent = self.gateway.operate(
            "POST",
            "commands",
            {"node": self.node(), "kind": "boot.clear", "payload": {"mac": MAC}},
        )
        agent.until(lambda: self.state(str(sent["id"])) == "done")
        gone = self.ask(path)
        assert gone is not None
        self.assertEqual(gone.status, 403)
        self.assertEqual(agent.stop(), 0)
        self.assertNotIn("Traceback", agent.log)
        self.assertNotIn(where.rpartition("/")[2], agent.log)

    def test_loaders(self) -> None:
        """By TFTP every file of the directory, and the script that no file is; none on standby."""
        agent = self.boots(token=self.gateway.token())
        agent.until(self.active, 90)
        self.assertEqual(self.tftp(b"ipxe-x86_64.efi"), b"ipxe-x86_64.efi" * 1000)
        self.assertEqual(self.tftp(b"other.efi"), b"other.efi" * 1000)
        self.assertIsInstance(self.tftp(b"../a/site.toml"), Error)
        lead = self.tftp(b"x64/autoexec.ipxe")
        assert isinstance(lead, bytes)
        url = f"http://127.0.0.1:{self.ports['a']}"
        self.assertIn(f"chain {url}/boot/ipxe?mac=${{netX/mac}}&".encode(), lead)
        said = self.ask("/boot/loaders/autoexec.ipxe")
        assert said is not None
        self.assertEqual((said.status, said.text.encode()), (200, lead))
        (self.here / "files" / "autoexec.ipxe").write_bytes(b"#!ipxe\nshell\n")
        self.assertEqual(self.tftp(b"autoexec.ipxe"), b"#!ipxe\nshell\n")
        self.assertIn("tftp", agent.log)
        self.assertNotIn("stranger", agent.log)
        self.assertEqual(agent.stop(), 0)

    def test_a_workflow_is_over(self) -> None:
        """Its machine boots its own disk from then on."""
        agent = self.boots(token=self.gateway.token())
        agent.until(self.active, 90)
        workflow = self.deploy()
        agent.until(lambda: "bc.token=" in self.script())
        self.gateway.operate("POST", f"workflows/{workflow}/cancel")
        agent.until(lambda: "Nothing is prepared" in self.script())


class VanishingTests(FilesCase):
    def test_a_kernel_that_goes_and_comes_back(self) -> None:
        """
        Nobody can be booted without it: the boot server stops, says so, and gives the lease to
        others. The agent stays. With the file it begins again, by itself.
        """
        agent = self.boots(token=self.gateway.token(), entry=LOOKING)
        agent.until(self.active, 90)
        kernel: Path = self.here / "files" / "vmlinuz"
        kernel.rename(kernel.with_suffix(".away"))
        agent.until(lambda: "boot server stopped: http: [boot] kernel: " in agent.log)
        agent.until(lambda: self.part("http")["state"] == "failed")
        self.assertIn("[boot] kernel: ", self.part("http")["reason"])
        agent.until(lambda: not self.lease()["active"])
        agent.until(lambda: self.ask("/healthz") is None)
        # It says Hello anew, as one that boots nobody.
        agent.until(lambda: self.status()["session"]["state"] == "live")  # type: ignore[index]
        self.assertEqual(agent.log.count("boot server stopped"), 1)
        kernel.with_suffix(".away").rename(kernel)
        agent.until(self.active)
        agent.until(lambda: self.part("http")["state"] == "listening")
        self.assertEqual(agent.stop(), 0)
        self.assertNotIn("Traceback", agent.log)
