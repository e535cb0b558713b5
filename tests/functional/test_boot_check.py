"""``boot check`` against real listeners on loopback: one that is well, and every break."""

import hashlib
import json
import os
import shutil
import socket
from io import StringIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

from twisted.application.service import IService
from twisted.internet import reactor
from twisted.internet.defer import maybeDeferred
from twisted.internet.interfaces import IReactorUDP
from twisted.internet.protocol import DatagramProtocol
from twisted.trial.unittest import TestCase

from rescriptum.boot.loaders import ONE_LOADER, SERVED, X64_LOADER
from rescriptum.cli import walk
from rescriptum.cli.boot import CheckOptions
from rescriptum.config import Config, read
from rescriptum.errors import ConfigError
from rescriptum.roles.serve import make_server

from ..certificates import write_certificate

TFTP_PORT = 6969
MACHINE = "52:54:00:12:34:56"


def quiet_address() -> str:
    """An address of this host that no other test uses: the port may be the real one then."""
    while True:
        host = str(ip_address("127.64.0.0") + int.from_bytes(os.urandom(2)) * 64 + 1)
        with socket.socket() as probe:
            try:
                probe.bind((host, 8001))
            except OSError:
                continue
            return host


class Foreign(DatagramProtocol):
    """Another TFTP server: one datagram is its answer to everything."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def datagramReceived(self, datagram: bytes, addr: Any) -> None:
        assert self.transport is not None
        if self.answer:
            self.transport.write(self.answer, addr)


class BootCheckTests(TestCase):
    def setUp(self) -> None:
        self.host = quiet_address()
        self.here = Path(self.mktemp()).resolve()
        self.boot, self.media = self.here / "boot", self.here / "media"
        self.answers = self.here / "answers"
        for each in (self.boot, self.media, self.answers):
            each.mkdir(parents=True)
        sums = []
        for name in {str(row.loader) for row in SERVED} | {ONE_LOADER, "ldlinux.c32", "ipxe.lkrn"}:
            data = os.urandom(4000)
            (self.boot / name).write_bytes(data)
            sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
        (self.boot / "SHA256SUMS").write_text("".join(sums))
        (self.boot / "logo.png").write_bytes(b"\x89PNG")
        self.patch(walk, "SILENCE", 0.3)
        self.patch(walk, "LONGEST", 1.0)

    def config(self, **more: str) -> Config:
        environ = {
            "RESCRIPTUM_PUBLIC_HOST": self.host,
            "RESCRIPTUM_LISTEN_ADDR": f"{self.host}:8000",
            "RESCRIPTUM_MEDIA_ADDR": f"{self.host}:8001",
            "RESCRIPTUM_TFTP_ADDR": f"{self.host}:{TFTP_PORT}",
            "RESCRIPTUM_BOOT_DIR": str(self.boot),
            "RESCRIPTUM_MEDIA_DIR": str(self.media),
            "RESCRIPTUM_ANSWERS_DIR": str(self.answers),
            "RESCRIPTUM_LOG": "off",
            **{f"RESCRIPTUM_{name}": value for name, value in more.items()},
        }
        return read(environ).config()

    def serve(self, config: Config) -> None:
        server = IService(make_server(config, cast(Any, reactor)))
        server.privilegedStartService()
        server.startService()
        self.addCleanup(server.stopService)

    def foreign(self, answer: bytes) -> None:
        self.port = IReactorUDP(reactor).listenUDP(TFTP_PORT, Foreign(answer), self.host, 1500)
        self.addCleanup(self.port.stopListening)

    async def check(self, config: Config, *argv: str) -> tuple[int, dict[str, Any]]:
        options = CheckOptions()
        options.parseOptions(["--json", *argv])
        out = StringIO()
        code = await options.perform_async(cast(Any, reactor), config, out, StringIO())
        document = json.loads(out.getvalue())
        self.assertEqual(document["boots"], code == 0)
        return code, document

    def broken(self, document: dict[str, Any]) -> list[tuple[str, str, str]]:
        return [
            (each["link"], each["subject"], each["text"])
            for each in document["findings"]
            if each["verdict"] not in ("ok", "note")
        ]

    async def test_all_is_well(self) -> None:
        """
        Every loader of the table comes over TFTP and over HTTP, the scripts lead on, and the
        exit code is 0.
        """
        self.serve(self.config())
        code, document = await self.check(self.config())
        self.assertEqual((code, self.broken(document)), (0, []))
        well = {(each["link"], each["subject"]) for each in document["findings"]}
        for row in SERVED:
            self.assertIn(("loader", row.loader), well)
            self.assertIn(("tftp", row.loader), well)
            self.assertIn(("http", f"http://{self.host}:8001/boot/{row.loader}"), well)
        for name in ("autoexec.ipxe", "pxelinux.cfg/default", "script.ipxe"):
            self.assertIn(("tftp", name), well)
        for name in ("bootstrap", "menu"):
            self.assertIn(("script", f"http://{self.host}:8001/ipxe/{name}"), well)

    async def test_text(self) -> None:
        """What people read has a line for each."""
        options = CheckOptions()
        options.parseOptions([])
        out = StringIO()
        self.serve(self.config())
        await options.perform_async(cast(Any, reactor), self.config(), out, StringIO())
        self.assertIn(f"  ok      {X64_LOADER}: ", out.getvalue())

    async def test_a_missing_loader(self) -> None:
        """S47: the table names a loader that is not there; the check fails and says which."""
        (self.boot / "ipxe-arm64.efi").unlink()
        self.serve(self.config())
        code, document = await self.check(self.config())
        self.assertEqual(code, 1)
        [(link, subject, text)] = self.broken(document)
        self.assertEqual((link, subject), ("loader", "ipxe-arm64.efi"))
        self.assertIn("UEFI ARM64", text)

    async def test_a_loader_that_was_cut_off(self) -> None:
        """The digest is not the one that SHA256SUMS promises."""
        (self.boot / X64_LOADER).write_bytes(b"MZ")
        self.serve(self.config())
        code, document = await self.check(self.config())
        self.assertEqual(code, 1)
        self.assertEqual([each[:2] for each in self.broken(document)], [("loader", X64_LOADER)])

    async def test_a_foreign_server_with_other_bytes(self) -> None:
        """Another daemon holds the port and hands out a loader of its own."""
        self.foreign(b"\0\3\0\1not our loader")
        code, document = await self.check(self.config())
        self.assertEqual(code, 1)
        self.assertIn(("tftp", X64_LOADER), [each[:2] for each in self.broken(document)])
        self.assertTrue(any("another server" in each[2] for each in self.broken(document)))

    async def test_a_foreign_server_without_the_file(self) -> None:
        """Its error is shown."""
        self.foreign(b"\0\5\0\1No such file here\0")
        code, document = await self.check(self.config())
        self.assertEqual(code, 1)
        [text] = [each[2] for each in self.broken(document) if each[1] == X64_LOADER]
        self.assertIn("No such file here", text)

    async def test_a_foreign_server_that_speaks_no_tftp(self) -> None:
        """Whatever it says, and however often, is a finding and never a traceback."""
        for answer in (b"\0\6junk", b"\0\6", b"junk", b"\0\3", b"\0\6blksize\x009999\0"):
            self.foreign(answer)
            code, document = await self.check(self.config())
            self.assertEqual(code, 1)
            self.assertIn("tftp", [each[0] for each in self.broken(document)], answer)
            await maybeDeferred(self.port.stopListening)

    async def test_our_own_server_with_another_directory(self) -> None:
        """The server that runs was started with other settings than the check."""
        other = self.here / "other"
        shutil.copytree(self.boot, other)
        (other / X64_LOADER).write_bytes(b"older")
        self.serve(self.config(BOOT_DIR=str(other)))
        code, document = await self.check(self.config())
        self.assertEqual(code, 1)
        self.assertEqual(
            {each[:2] for each in self.broken(document)},
            {("tftp", X64_LOADER), ("http", f"http://{self.host}:8001/boot/{X64_LOADER}")},
        )

    async def test_a_silent_port(self) -> None:
        """Something holds the port and says nothing: it is asked once, not once a loader."""
        self.foreign(b"")
        code, document = await self.check(self.config())
        self.assertEqual(code, 1)
        [text] = [each[2] for each in self.broken(document) if each[0] == "tftp"]
        self.assertIn("cannot be bound either: Address already in use", text)

    async def test_nothing_runs(self) -> None:
        """The port is free, the listeners refuse: the check fails and asks the obvious."""
        code, document = await self.check(self.config())
        self.assertEqual(code, 1)
        self.assertEqual({each[0] for each in self.broken(document)}, {"tftp", "http"})
        for each in self.broken(document):
            self.assertIn("is rescriptum running", each[2])

    async def test_tftp_off(self) -> None:
        """That is a choice, and a note; the loaders are still asked for over HTTP."""
        config = self.config(TFTP_ADDR="off")
        self.serve(config)
        code, document = await self.check(config)
        self.assertEqual((code, self.broken(document)), (0, []))
        self.assertNotIn("tftp", [each["link"] for each in document["findings"]])

    async def test_tls(self) -> None:
        """With TLS on the listeners, the certificate that was configured is the one to meet."""
        mine = dict(zip(("TLS_CERT", "TLS_KEY"), write_certificate(self.here), strict=True))
        config = self.config(**{name: str(path) for name, path in mine.items()})
        self.serve(config)
        code, document = await self.check(config)
        self.assertEqual((code, self.broken(document)), (0, []))
        other = write_certificate(self.here, "other.example")[0]
        code, document = await self.check(
            self.config(TLS_CERT=str(other), TLS_KEY=str(mine["TLS_KEY"]))
        )
        self.assertEqual(code, 1)
        self.assertIn("another certificate", self.broken(document)[0][2])

    async def test_a_certificate_that_is_none(self) -> None:
        """The check says so, as the server would when it starts."""
        (self.here / "x.pem").write_text("x")
        pem = str(self.here / "x.pem")
        for path in (pem, str(self.here / "gone.pem")):
            with self.assertRaises(ConfigError):
                await self.check(self.config(TLS_CERT=path, TLS_KEY=pem))

    async def test_no_boot_directory(self) -> None:
        """With the settings of another shell it would walk nothing: that is no yes."""
        config = read({"RESCRIPTUM_PUBLIC_HOST": self.host}).config()
        code, document = await self.check(config)
        self.assertEqual(code, 1)
        self.assertIn("boot directory", [each["subject"] for each in document["findings"]])

    async def test_an_allow_list_without_this_host(self) -> None:
        """The server would say nothing to the check: that is not proof of anything."""
        config = self.config(BOOT_ALLOW="192.0.2.0/24")
        self.serve(config)
        code, document = await self.check(config)
        self.assertEqual(code, 1)
        self.assertEqual(
            [each[:2] for each in self.broken(document)],
            [("tftp", self.host), ("http", self.host)],
        )

    async def test_a_moved_media_listener(self) -> None:
        """Everything answers, and loaders with a script inside would still find nobody."""
        config = self.config(MEDIA_ADDR=f"{self.host}:8081")
        self.serve(config)
        code, document = await self.check(config)
        self.assertEqual(code, 1)
        self.assertEqual([each[:2] for each in self.broken(document)], [("settings", "media port")])

    async def test_an_unclaimed_machine(self) -> None:
        """``--mac`` of a machine that nothing claims: it gets the menu, and that is well."""
        self.serve(self.config())
        code, document = await self.check(self.config(), "--mac", MACHINE)
        self.assertEqual(code, 0)
        [text] = [each["text"] for each in document["findings"] if each["subject"] == MACHINE]
        self.assertIn("the menu", text)

    def claim(self, script: str) -> None:
        directory = self.answers / MACHINE.replace(":", "")
        directory.mkdir()
        (directory / "boot.ipxe").write_text(script)

    async def test_a_claimed_machine(self) -> None:
        """``--mac`` follows it: its script, the kernel and initrd, the installer's answer."""
        media = f"http://{self.host}:8001"
        self.claim(
            f"#!ipxe\nkernel {media}/boot/ipxe.lkrn url=http://{self.host}:8000/preseed"
            f"?mac=${{netX/mac}}\ninitrd {media}/boot/{ONE_LOADER}\nboot\n"
        )
        (self.answers / MACHINE.replace(":", "") / "preseed.preseed").write_text("d-i x y z\n")
        self.serve(self.config())
        code, document = await self.check(self.config(), "--mac", MACHINE)
        self.assertEqual((code, self.broken(document)), (0, []))
        asked = {each["subject"]: each["text"] for each in document["findings"]}
        self.assertIn("claimed", asked[MACHINE])
        self.assertIn("kernel, 4000", asked[f"{media}/boot/ipxe.lkrn"])
        self.assertIn("initrd, 4000", asked[f"{media}/boot/{ONE_LOADER}"])
        self.assertIn("installer's answer", asked[f"http://{self.host}:8000/preseed?mac={MACHINE}"])

    async def test_a_claimed_machine_without_its_kernel(self) -> None:
        """The script names an image that is gone: the link that breaks is the kernel."""
        media = f"http://{self.host}:8001"
        self.claim(f"#!ipxe\nkernel {media}/gone/kernel\nboot\n")
        self.serve(self.config())
        code, document = await self.check(self.config(), "--mac", MACHINE)
        self.assertEqual(code, 1)
        self.assertEqual(
            [each[:2] for each in self.broken(document)], [("kernel", f"{media}/gone/kernel")]
        )

    async def test_a_claimed_machine_whose_answer_cannot_be_filled(self) -> None:
        """The 500 that the machine would get is found before it does."""
        self.claim("#!ipxe\necho {{ nowhere }}\n")
        self.serve(self.config())
        code, document = await self.check(self.config(), "--mac", MACHINE)
        self.assertEqual(code, 1)
        self.assertEqual([each[:2] for each in self.broken(document)], [("answer", MACHINE)])
