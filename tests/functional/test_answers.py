"""The answer listener over a real socket: what installers send, and what they get."""

import json
from pathlib import Path

from twisted.application.service import MultiService
from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol
from twisted.internet.interfaces import IReactorFromThreads
from twisted.internet.protocol import Protocol
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from rescriptum.answers.resource import Answers
from rescriptum.answers.store import AnswerStore
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.net.workers import WorkerPool
from rescriptum.values import Listen
from rescriptum.web.service import WebService
from rescriptum.web.site import Limits, Site

from ..test_answers_facts import PROXMOX

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "answers"


class Exchange(Protocol):
    """Says something, and hears everything until the other side closes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._heard = bytearray()
        self.ended: Deferred[bytes] = Deferred()

    def connectionMade(self) -> None:
        assert self.transport is not None
        self.transport.write(self._data)

    def dataReceived(self, data: bytes) -> None:
        self._heard += data

    def connectionLost(self, reason: Failure = Failure(Exception())) -> None:  # noqa: B008
        self.ended.callback(bytes(self._heard))


class AnswerListenerTests(TestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.path.mkdir()
        self.pool = WorkerPool(IReactorFromThreads(reactor), "answers", 2)
        self.pool.start()
        self.addCleanup(self.pool.stop)
        directory = AnswerDirectory(self.path, reactor.seconds)
        store = AnswerStore(directory, self.pool, reactor)
        site = Site(
            Answers(store, self.pool),
            reactor=reactor,
            limits=Limits.answers(),
            workers=self.pool,
        )
        self.service = WebService(reactor, "answers", Listen("127.0.0.1", 0), site)
        root = MultiService()
        self.service.setServiceParent(root)
        root.privilegedStartService()
        root.startService()
        self.addCleanup(root.stopService)

    def write(self, name: str, data: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    async def say(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        """:returns: status, headers and body of what comes back before the connection closes."""
        exchange = Exchange(data)
        endpoint = HostnameEndpoint(reactor, *self.service.address)
        await connectProtocol(endpoint, exchange)
        head, _, body = (await exchange.ended).partition(b"\r\n\r\n")
        first, *lines = head.decode("ascii").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        return int(first.split(" ")[1]), headers, body

    async def ask(
        self, target: str, method: str = "GET", body: bytes | None = None, *headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        lines = [f"{method} {target} HTTP/1.1", "Host: x", "Connection: close", *headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return await self.say("\r\n".join([*lines, "", ""]).encode() + (body or b""))

    async def test_debian(self) -> None:
        """One GET by wget, the identity in the path, and the whole document (families 4.1)."""
        self.write("52-54-00-00-00-01/d.preseed", b"d-i x string {{ mac }}\n")
        status, headers, body = await self.ask(
            "/debian/52-54-00-00-00-01/preseed.cfg",
            "GET",
            None,
            "User-Agent: debian-installer",
            "Accept: */*",
            "Accept-Encoding: identity",
        )
        self.assertEqual((status, body), (200, b"d-i x string 52-54-00-00-00-01\n"))
        self.assertEqual(headers["content-length"], str(len(body)))
        self.assertEqual(headers["content-type"], "text/plain; charset=utf-8")

    async def test_proxmox(self) -> None:
        """S44, W193: POST and JSON, with the headers of the 9.2 installer."""
        self.write("bc2411000001/a.toml", b"[global]\n")
        status, headers, body = await self.ask(
            "/proxmox/answer",
            "POST",
            json.dumps(PROXMOX).encode(),
            "Content-Type: application/json; charset=utf-8",
            "Accept: application/json, application/toml;q=0.5",
        )
        self.assertEqual((status, body), (200, b"[global]\n"))
        self.assertEqual(headers["content-type"], "text/plain; charset=utf-8")

    async def test_anaconda(self) -> None:
        """curl in dracut, with the headers of ``inst.ks.sendmac``; the path says who it is."""
        self.write("52-54-00-00-00-01/r.ks", b"text\n")
        status, _, body = await self.ask(
            "/rhel/52:54:00:00:00:01/ks.cfg",
            "GET",
            None,
            "X-RHN-Provisioning-MAC-0: eno1 52:54:00:00:00:01",
        )
        self.assertEqual((status, body), (200, b"text\n"))

    async def test_cloud_init(self) -> None:
        """Four files of a NoCloud seed, none of them missing: each 404 would cost ten seconds."""
        self.write("52-54-00-00-00-01/u.yaml", b"#cloud-config\nautoinstall: {version: 1}\n")
        bodies = {}
        for part in ("network-config", "meta-data", "user-data", "vendor-data"):
            status, headers, bodies[part] = await self.ask(f"/ubuntu/52-54-00-00-00-01/{part}")
            self.assertEqual(status, 200)
            self.assertEqual(headers["content-length"], str(len(bodies[part])))
        self.assertTrue(bodies["user-data"].startswith(b"#cloud-config\n"))
        self.assertEqual(bodies["meta-data"], b'instance-id: "52-54-00-00-00-01"\n')

    async def test_ipxe(self) -> None:
        """The bootstrap's question: claimed by address or by UUID in either order, else a 404."""
        self.write("4c4c4544-0050-4810-8033-b2c04f4d3132/b.ipxe", b"#!ipxe\n")
        query = "mac=52:54:00:00:00:01&uuid={}&serial=A%20B&asset=&product=X&platform=efi"
        for uuid, expected in (
            ("4c4c4544-0050-4810-8033-b2c04f4d3132", 200),
            ("44454c4c-5000-1048-8033-b2c04f4d3132", 200),
            ("00000000-0050-4810-8033-b2c04f4d3132", 404),
        ):
            status, _, _ = await self.ask(f"/ipxe/boot?{query.format(uuid)}")
            self.assertEqual(status, expected)

    async def test_head_is_get_without_a_body(self) -> None:
        self.write("default/x.ks", b"12345")
        status, headers, body = await self.ask("/ks", "HEAD")
        self.assertEqual((status, headers["content-length"], body), (200, "5", b""))

    async def test_refusals(self) -> None:
        """A bare sentence each, and one line in the log that says why."""
        self.write("machine-1/x.toml", b"a =")
        json_type = "Content-Type: application/json"
        with capturedLogs() as events:
            for expected, target, method, body, *headers in (
                (404, "/nobody", "GET", None),
                (405, "/x", "DELETE", None),
                (400, "/x", "POST", b"{", json_type),
                (500, "/pve/machine-1", "GET", None),
                (413, "/x", "POST", None, "Content-Length: 99999999"),
            ):
                status, _, text = await self.ask(target, method, body, *headers)
                self.assertEqual(status, expected)
                self.assertTrue(text.startswith(str(expected).encode()), text)
                self.assertLess(len(text), 64)
        refused = [each for each in events if each.get("event") == "answer.refused"]
        self.assertEqual([each["status"] for each in refused], [404, 405, 400, 500, 413])
        self.assertTrue(all(each["reason"] for each in refused))

    async def test_many_at_once_wait_for_one_reading(self) -> None:
        """A rack that is switched on: everybody is answered, after every kind of abuse."""
        for at in range(50):
            self.write(f"52-54-00-00-01-{at:02x}/x.ks", b"%d {{ machine }}" % at)
        await self.say(b"POST /ks HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")
        await self.say(b"\x16\x03\x01\x02\x00" * 20 + b"\r\n\r\n")
        asked = [
            Deferred.fromCoroutine(self.ask(f"/ks?mac=52:54:00:00:01:{at:02x}")) for at in range(50)
        ]
        for at, (status, _, body) in enumerate(await gatherResults(asked)):
            self.assertEqual((status, body), (200, b"%d 52-54-00-00-01-%02x" % (at, at)))

    async def test_a_large_body(self) -> None:
        """Past the size that is looked through in the reactor's turn, up to the bound."""
        self.write("machine-1/x.ks", b"1")
        for size in (20_000, 1 << 20):
            status, _, body = await self.ask("/ks", "POST", b"machine-1".ljust(size, b"."))
            self.assertEqual((status, body), (200, b"1"))
