"""The media listener over a real socket, with images as xorriso makes them."""

import hashlib
import os
from pathlib import Path
from shutil import which

from twisted.application.service import MultiService
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol
from twisted.internet.interfaces import IReactorFromThreads, IReactorTime
from twisted.internet.utils import getProcessOutputAndValue
from twisted.logger import capturedLogs
from twisted.trial.unittest import SkipTest, TestCase

from rescriptum.media.disk.store import write_sidecar
from rescriptum.media.readers.store import content_of
from rescriptum.media.resource import MediaTree
from rescriptum.media.store import MediaStore
from rescriptum.net.workers import WorkerPool
from rescriptum.values import Listen
from rescriptum.web.service import WebService
from rescriptum.web.site import Limits, Site

from .. import isos
from .test_answers import Exchange


class Reply:
    """One of the replies on a connection."""

    def __init__(self, head: bytes) -> None:
        first, *lines = head.decode("ascii").split("\r\n")
        self.status = int(first.split(" ")[1])
        self.headers = dict(line.split(": ", 1) for line in lines)
        self.body = b""


def replies(heard: bytes, methods: list[str]) -> list[Reply]:
    """Take a connection's bytes apart by nothing but the lengths that the replies announce."""
    found = []
    for method in methods:
        head, _, heard = heard.partition(b"\r\n\r\n")
        reply = Reply(head)
        bodiless = method == "HEAD" or reply.status == 304
        length = 0 if bodiless else int(reply.headers["Content-Length"])
        reply.body, heard = heard[:length], heard[length:]
        found.append(reply)
    assert heard == b"", f"{len(heard)} bytes that no reply announced"
    return found


class MediaListenerTests(TestCase):
    def setUp(self) -> None:
        self.root = Path(self.mktemp())
        self.root.mkdir()
        self.iso = isos.build(self.root / "rocky-9.iso", isos.ROCKY_DVD)
        isos.build(self.root / "ubuntu.iso", isos.UBUNTU_SERVER)
        isos.plant(self.root / "netboot", isos.DEBIAN_NETBOOT)
        self.pool = WorkerPool(IReactorFromThreads(reactor), "media", 2)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        store = MediaStore(self.root, self.pool, IReactorTime(reactor).seconds)
        site = Site(
            MediaTree(store),
            reactor=IReactorTime(reactor),
            limits=Limits.media(),
            workers=self.pool,
        )
        self.service = WebService(reactor, "media", Listen("127.0.0.1", 0), site, grace=0)
        root = MultiService()
        self.service.setServiceParent(root)
        root.privilegedStartService()
        root.startService()
        self.addCleanup(root.stopService)

    async def ask(self, *requests: str) -> list[Reply]:
        """:param requests: ``METHOD target``, and further headers a line each; sent at once."""
        asked = []
        for at, request in enumerate(requests):
            first, *lines = request.split("\n")
            last = ["Connection: close"] if at == len(requests) - 1 else []
            asked.append("\r\n".join([f"{first} HTTP/1.1", "Host: x", *lines, *last, "", ""]))
        exchange = Exchange("".join(asked).encode("ascii"))
        endpoint = HostnameEndpoint(reactor, *self.service.address)
        await connectProtocol(endpoint, exchange)
        return replies(await exchange.ended, [each.split(" ")[0] for each in requests])

    async def test_bytes(self) -> None:
        """Each part is what is in the image, byte for byte, and octets (W152, W180)."""
        files = isos.ROCKY_DVD.files
        whole = self.iso.read_bytes()
        for target, expected, kind in (
            ("/rocky-9/iso", whole, "application/vnd.efi-iso"),
            ("/rocky-9/rocky-9.iso", whole, "application/vnd.efi-iso"),
            ("/rocky-9/kernel", files["images/pxeboot/vmlinuz"], "application/octet-stream"),
            ("/rocky-9/initrd", files["images/pxeboot/initrd.img"], "application/octet-stream"),
            ("/rocky-9/file//.treeinfo", files[".treeinfo"], "application/octet-stream"),
            ("/rocky-9/file/IMAGES/install.img", files["images/install.img"], None),
            ("/rocky-9/file/Packages/nothing", b"404 Not Found\n", None),
            ("/netboot/kernel", isos.x86_kernel(), "application/octet-stream"),
            ("/netboot/initrd", isos.initrd(), "application/octet-stream"),
            ("/netboot/file/pxelinux.0", bytes(42430), None),
            ("/health", b"OK\n", None),
        ):
            [reply] = await self.ask(f"GET {target}")
            self.assertEqual(reply.body, expected, target)
            self.assertIn(kind, (None, reply.headers["Content-Type"]))
            self.assertNotIn("Content-Encoding", reply.headers)

    async def test_head_then_get_on_one_connection(self) -> None:
        """B35, W150: firmware asks for the size, then for the bytes; both are told the same."""
        head, get = await self.ask("HEAD /ubuntu/ubuntu.iso", "GET /ubuntu/ubuntu.iso")
        self.assertEqual((head.status, get.status), (200, 200))
        for name in ("Content-Length", "ETag", "Accept-Ranges", "Last-Modified", "Content-Type"):
            self.assertEqual(head.headers[name], get.headers[name])
        self.assertEqual(get.body, (self.root / "ubuntu.iso").read_bytes())

    async def test_ranges_inside_an_image(self) -> None:
        """B38: each range of a file is of the file, not of the image around it."""
        data = isos.ROCKY_DVD.files["images/pxeboot/initrd.img"]
        target = "GET /rocky-9/file/images/pxeboot/initrd.img\nRange: bytes="
        first, one, last, beyond, tail, whole = await self.ask(
            f"{target}0-10",
            f"{target}0-0",
            f"{target}-10",
            f"{target}{len(data)}-",
            f"{target}65000-99999999",
            target.partition("\n")[0],
        )
        assert isinstance(data, bytes)
        self.assertEqual((first.status, first.body), (206, data[:11]))
        self.assertEqual((one.status, one.body), (206, data[:1]))
        self.assertEqual((last.status, last.body), (206, data[-10:]))
        self.assertEqual(beyond.status, 416)
        self.assertEqual(beyond.headers["Content-Range"], f"bytes */{len(data)}")
        self.assertEqual((tail.status, tail.body), (206, data[65000:]))
        self.assertEqual(whole.body, data)

    async def test_digest_as_entity_tag(self) -> None:
        """What ``media add`` recorded: the same on every server that has this image."""
        content = content_of(self.iso, "x/y")
        digest = hashlib.sha256(self.iso.read_bytes()).hexdigest()
        changes = {"sha256": digest, "bytes": str(content.size)}
        changes["modified"] = str(content.version[3])
        write_sidecar(self.root / "rocky-9.media", changes)
        [reply] = await self.ask("HEAD /rocky-9/iso")
        self.assertEqual(reply.headers["ETag"], f'"{digest}"')
        [same] = await self.ask(f'GET /rocky-9/iso\nIf-None-Match: "{digest}"')
        self.assertEqual((same.status, same.body), (304, b""))

    async def test_sanboot(self) -> None:
        """W163: an image read in pieces is whole, and one line in the log when it ends."""
        whole = self.iso.read_bytes()
        step = 16384
        pieces = [
            f"GET /rocky-9/iso\nRange: bytes={at}-{min(at + step, len(whole)) - 1}"
            for at in range(0, len(whole), step)
        ]
        with capturedLogs() as events:
            found = await self.ask("HEAD /rocky-9/iso", *pieces)
            await self._settled()
        self.assertEqual(b"".join(each.body for each in found), whole)
        [event] = [each for each in events if each.get("event") == "image.sent"]
        self.assertEqual((event["requests"], event["sent"]), (len(pieces), len(whole)))

    async def test_qemu_opens_it(self) -> None:
        """B40: qemu's own HTTP driver, which refuses a server without ranges."""
        program = which("qemu-img")
        if program is None:
            raise SkipTest("no qemu-img here")
        host, port = self.service.address
        url = f"http://{host}:{port}/rocky-9/rocky-9.iso"
        out, err, code = await getProcessOutputAndValue(program, ["info", url], os.environ)
        if b"Unknown protocol" in err or b"not found" in err:
            raise SkipTest("qemu-img has no HTTP driver here")
        self.assertEqual((code, err), (0, b""))
        self.assertIn(b"file format: raw", out)

    async def test_a_replaced_image(self) -> None:
        """Within a second or two the new one is served; never a mixture."""
        await self.ask("GET /rocky-9/kernel")
        other = isos.ROCKY_DVD.also({"images/pxeboot/vmlinuz": isos.arm64_kernel()})
        isos.build(self.root / "new.iso", other).replace(self.iso)
        for _ in range(40):
            [reply] = await self.ask("GET /rocky-9/kernel")
            if reply.body == isos.arm64_kernel():
                break
            self.assertIn(reply.body, (isos.x86_kernel(), b"503 Service Unavailable\n"))
            await self._settled(0.1)
        else:
            self.fail("the old kernel is still served")

    async def _settled(self, seconds: float = 0.05) -> None:
        later: Deferred[None] = Deferred()
        IReactorTime(reactor).callLater(seconds, later.callback, None)
        await later
