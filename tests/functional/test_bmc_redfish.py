"""The Redfish client over real TLS: whom it trusts, and what a rude BMC costs it."""

import os
from collections.abc import Callable
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding
from hyperlink import DecodedURL
from OpenSSL.SSL import TLS1_1_VERSION, TLS1_VERSION
from twisted.internet import reactor as global_reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator, IReactorTCP
from twisted.internet.protocol import Protocol, ServerFactory
from twisted.internet.tcp import Port
from twisted.logger import LogLevel, capturedLogs
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.redfish.client import AT_ONCE, HEAD, HttpTransport
from rescriptum.bmc.redfish.documents import LONGEST
from rescriptum.bmc.redfish.driver import RedfishDriver
from rescriptum.bmc.trust import Trust
from rescriptum.contract.bmc import OPERATIONS, BmcRefusal, Nothing, PowerAction, SetPower
from rescriptum.contract.certificates import certificate_pin
from rescriptum.values import Secret

from ..certificates import ChainServer, issued

PASSWORD = "a secret of this test"
CREDENTIAL = Credential("admin", Secret(PASSWORD))
AUTHORITY = issued("ca", authority=True)
OWN = issued("bmc", AUTHORITY, names=["127.0.0.1"])
OLD = issued("bmc", days=(-30, -20))
SYSTEM = b'{"PowerState": "On", "Actions": {"#ComputerSystem.Reset": {"target": "/reset"}}}'
ANSWERS = {
    b"/redfish/v1/": b'{"Systems": {"@odata.id": "/systems"}, "Links": {"Sessions":'
    b' {"@odata.id": "/sessions"}}}',
    b"/systems": b'{"Members": [{"@odata.id": "/systems/1"}]}',
    b"/systems/1": SYSTEM,
}


def answer(body: bytes, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n"
    return head % (status, len(body), more) + body


LOGGED_IN = answer(b"{}", b"201 Created", b"X-Auth-Token: t\r\nLocation: /sessions/1\r\n")


class Bmc(Protocol):
    """Answers by path, one request after the other."""

    factory: "Bmcs"

    def __init__(self) -> None:
        self.heard = b""

    def dataReceived(self, data: bytes) -> None:
        self.heard += data
        while b"\r\n\r\n" in self.heard:
            head, _, rest = self.heard.partition(b"\r\n\r\n")
            length = 0
            for line in head.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if len(rest) < length:
                return
            self.heard = rest[length:]
            method, path, _ = head.split(b"\r\n")[0].split(b" ")
            self.factory.asked.append((method, path, head))
            self._answer(method, path)

    def _answer(self, method: bytes, path: bytes) -> None:
        assert self.transport is not None
        doing = self.factory.doing.get((method, path))
        if doing is not None:
            doing(self)
        elif (method, path) == (b"POST", b"/sessions"):
            self.transport.write(LOGGED_IN)
        elif path in ANSWERS:
            self.transport.write(answer(ANSWERS[path]))
        else:
            self.transport.write(answer(b"", b"204 No Content"))

    def connectionLost(self, reason: Failure | None = None) -> None:
        self.factory.open -= 1


class Bmcs(ServerFactory[Bmc]):
    """:ivar doing: by method and path. :ivar asked: method, path and head."""

    noisy = False

    def __init__(self) -> None:
        self.doing: dict[tuple[bytes, bytes], Callable[[Bmc], None]] = {}
        self.asked: list[tuple[bytes, bytes, bytes]] = []
        self.open = 0
        self.made = 0

    def buildProtocol(self, addr: object) -> Bmc:
        made = Bmc()
        made.factory = self
        self.open += 1
        self.made += 1
        return made


class RedfishCase(TestCase):
    def setUp(self) -> None:
        self.bmcs = Bmcs()
        self.url = ""

    def serve(self, shown: IOpenSSLServerConnectionCreator | None = None) -> None:
        factory = self.bmcs if shown is None else TLSMemoryBIOFactory(shown, False, self.bmcs)
        reactor = IReactorTCP(global_reactor)
        port = reactor.listenTCP(0, factory, interface="127.0.0.1")  # type: ignore[arg-type]
        assert isinstance(port, Port)
        self.addCleanup(port.stopListening)
        scheme = "http" if shown is None else "https"
        self.url = f"{scheme}://127.0.0.1:{port.getHost().port}"

    def driver(self, trust: Trust) -> RedfishDriver:
        return RedfishDriver(global_reactor, DecodedURL.from_text(self.url), trust)

    async def power(self, trust: Trust, seconds: float = 30) -> object:
        asked = Asked(OPERATIONS["power.getPower"], Nothing(), CREDENTIAL, seconds=seconds)
        return (await self.driver(trust).run(asked))["power"]

    async def code(self, trust: Trust, seconds: float = 30) -> str:
        try:
            await self.power(trust, seconds)
        except BmcRefusal as e:
            self.assertNotIn(PASSWORD, str(e))
            return e.code
        return "ok"


class TrustTests(RedfishCase):
    def authority(self) -> Path:
        path = Path(self.mktemp())
        path.write_bytes(AUTHORITY.certificate.public_bytes(Encoding.PEM))
        return path

    async def test_each_way_to_trust(self) -> None:
        """An operation, its login and its logout, under each of the three."""
        self.serve(ChainServer([OWN]))
        pinned = Trust.by_pin(certificate_pin(OWN.certificate).text)
        for trust in (pinned, Trust.by_authority(self.authority()), Trust.of_anybody()):
            self.bmcs.asked.clear()
            self.assertEqual(await self.power(trust), "on")
            methods = [each[0] for each in self.bmcs.asked]
            self.assertEqual(methods, [b"GET", b"POST", b"GET", b"GET", b"DELETE"])

    async def test_another_key(self) -> None:
        """Nothing is asked, so nobody hears a password."""
        self.serve(ChainServer([OLD]))
        pinned = Trust.by_pin(certificate_pin(OWN.certificate).text)
        self.assertEqual(await self.code(pinned), "pin-mismatch")
        self.assertEqual(await self.code(Trust.by_authority(self.authority())), "tls-error")
        self.assertEqual(self.bmcs.asked, [])

    async def test_an_authoritys_certificate_is_for_its_host(self) -> None:
        """One for another BMC does not do."""
        self.serve(ChainServer([issued("bmc", AUTHORITY, names=["127.0.0.2"])]))
        self.assertEqual(await self.code(Trust.by_authority(self.authority())), "tls-error")
        self.assertEqual(self.bmcs.asked, [])

    async def test_an_authority_that_cannot_be_read(self) -> None:
        self.serve(ChainServer([OWN]))
        bad = Path(self.mktemp())
        self.assertEqual(await self.code(Trust.by_authority(bad)), "invalid-config")
        bad.write_text("no certificate")
        self.assertEqual(await self.code(Trust.by_authority(bad)), "invalid-config")

    async def test_an_expired_certificate_is_as_good_as_its_key(self) -> None:
        """Which is the norm (W210, W211)."""
        self.serve(ChainServer([OLD]))
        pinned = Trust.by_pin(certificate_pin(OLD.certificate).text)
        self.assertEqual(await self.power(pinned), "on")

    async def test_old_tls_is_a_choice(self) -> None:
        """Refused, unless it is allowed by name: then loudly (W209), and the key still counts."""
        for newest in (TLS1_VERSION, TLS1_1_VERSION):
            self.serve(ChainServer([OLD], newest, TLS1_VERSION))
            pinned = Trust.by_pin(certificate_pin(OLD.certificate).text)
            self.assertEqual(await self.code(pinned), "tls-error")
            with capturedLogs() as events:
                self.assertEqual(await self.power(pinned.with_legacy_tls()), "on")
            levels = [each["log_level"] for each in events if "TLS" in each["log_format"]]
            self.assertEqual(levels, [LogLevel.warn])
            other = Trust.by_pin(certificate_pin(OWN.certificate).text).with_legacy_tls()
            self.assertEqual(await self.code(other), "pin-mismatch")

    async def test_clear_text_is_a_choice(self) -> None:
        self.serve()
        self.assertEqual(await self.power(Trust.of_anybody()), "on")
        pinned = Trust.by_pin(certificate_pin(OWN.certificate).text)
        self.assertEqual(await self.code(pinned), "invalid-config")

    async def test_urls_that_are_none(self) -> None:
        """Another scheme, credentials in it, or no host."""
        for url in ("ftp://bmc", "https://user:x@bmc", "https:///redfish", "https://büro.example"):
            self.url = url
            self.assertEqual(await self.code(Trust.of_anybody()), "invalid-config", url)

    async def test_names_that_no_resolver_takes(self) -> None:
        """They are refused, rather than make one fail."""
        for url in ("https://a..b", f"https://{'x' * 64}.example"):
            self.url = url
            self.assertEqual(await self.code(Trust.of_anybody()), "invalid-config", url)

    async def test_nobody_listens(self) -> None:
        self.serve()
        self.url = "https://127.0.0.1:1"
        self.assertEqual(await self.code(Trust.of_anybody()), "unreachable")
        self.url = "https://nowhere.invalid"
        self.assertEqual(await self.code(Trust.of_anybody()), "unreachable")


class RudeTests(RedfishCase):
    """Each costs its operation a bounded time and a code, and leaves nothing behind."""

    def setUp(self) -> None:
        super().setUp()
        self.serve(ChainServer([OLD]))
        self.trust = Trust.by_pin(certificate_pin(OLD.certificate).text)

    def does(self, write: bytes, close: bool, path: bytes = b"/systems/1") -> None:
        def doing(bmc: Bmc) -> None:
            assert bmc.transport is not None
            bmc.transport.write(write)
            if close:
                bmc.transport.loseConnection()

        self.bmcs.doing[(b"GET", path)] = doing

    async def test_hanging(self) -> None:
        """Before the answer, within its head, and within its body: all end with the operation."""
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"
        for write in (b"", head, head + b"\r\n{"):
            self.does(write, close=False)
            self.assertEqual(await self.code(self.trust, seconds=1), "timeout")
            self.assertEqual(self.bmcs.asked[-1][:2], (b"DELETE", b"/sessions/1"))

    async def test_too_much(self) -> None:
        """One byte more than 4 MiB, announced or not, or without an end."""
        big = b'{"x": "' + b"x" * (LONGEST - 9) + b'"}'
        self.does(answer(big), close=False)
        self.assertEqual(await self.code(self.trust), "ok")
        for head in (b"Content-Length: %d\r\n" % (LONGEST + 1), b""):
            self.does(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + big + b"  ", close=False)
            self.assertEqual(await self.code(self.trust), "bad-response")

    async def test_a_head_without_end(self) -> None:
        """Also one that comes fast, in lines that are each short enough."""
        line = b"X: " + b"y" * 1000 + b"\r\n"
        self.does(b"HTTP/1.1 200 OK\r\n" + line * (3 * LONGEST // len(line)), close=False)
        self.assertEqual(await self.code(self.trust), "bad-response")

    async def test_a_long_head(self) -> None:
        """Its bound, with lines that cost more than they have, or answers that are none yet."""
        for line in (b" z\r\n", b"X: y\r\n"):
            fits = (HEAD - 4096) // len(line)
            head = b"HTTP/1.1 200 OK\r\nX: y\r\n" + line * fits
            self.does(head + b"Content-Length: 2\r\n\r\n{}", close=False)
            self.assertEqual(await self.code(self.trust), "ok", line)
            head += line * (8192 // len(line))
            self.does(head + b"Content-Length: 2\r\n\r\n{}", close=False)
            self.assertEqual(await self.code(self.trust), "bad-response", line)
        for status in (b"100 Continue", b"103 Early Hints"):
            endless = b"HTTP/1.1 %s\r\n\r\n" % status
            self.does(endless * (2 * HEAD // len(endless)), close=False)
            self.assertEqual(await self.code(self.trust), "bad-response", status)

    async def test_many_long_answers(self) -> None:
        """One BMC is read no faster than others can bear; its session is ended at once."""
        parts = b", ".join(b'{"@odata.id": "/parts/%d"}' % each for each in range(9))
        service = b'{"FirmwareInventory": {"@odata.id": "/parts"}}'
        self.does(answer(service), close=False, path=b"/redfish/v1/UpdateService")
        self.does(answer(b'{"Members": [' + parts + b"]}"), close=False, path=b"/parts")
        long = b'{"x": "' + b"x" * (LONGEST - 9) + b'"}'
        for each in range(9):
            self.does(answer(long), close=False, path=b"/parts/%d" % each)
        asked = Asked(OPERATIONS["firmware.list"], Nothing(), CREDENTIAL, seconds=4)
        with self.assertRaises(BmcRefusal) as caught:
            await self.driver(self.trust).run(asked)
        self.assertEqual(caught.exception.code, "timeout")
        read = [path for _, path, _ in self.bmcs.asked if path.startswith(b"/parts/")]
        self.assertLessEqual(len(read), AT_ONCE // LONGEST + 2)
        self.assertEqual(self.bmcs.asked[-1][:2], (b"DELETE", b"/sessions/1"))

    async def test_half_an_answer(self) -> None:
        """And what is no HTTP, or no JSON."""
        for write in (
            b"",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
            b"garbage\r\n\r\n",
            b"\x00\xff" * 5000,
            answer(b"<html>"),
            answer(b"[]"),
        ):
            self.does(write, close=True)
            self.assertEqual(await self.code(self.trust), "bad-response", write)

    async def test_a_write_that_breaks_off(self) -> None:
        """Is not repeated, and nobody knows."""

        def drop(bmc: Bmc) -> None:
            assert bmc.transport is not None
            bmc.transport.loseConnection()

        self.bmcs.doing[(b"POST", b"/reset")] = drop
        args = SetPower(PowerAction.OFF)
        asked = Asked(OPERATIONS["power.setPower"], args, CREDENTIAL, seconds=10)
        working = Deferred.fromCoroutine(self.driver(self.trust).run(asked))
        with self.assertRaises(BmcRefusal) as caught:
            await working
        self.assertEqual(caught.exception.code, "timeout")
        self.assertEqual([each[1] for each in self.bmcs.asked].count(b"/reset"), 1)

    async def test_cancelled(self) -> None:
        """It logs out, and no connection is left."""
        reached: Deferred[None] = Deferred()
        self.bmcs.doing[(b"GET", b"/systems/1")] = lambda bmc: reached.callback(None)
        working = Deferred.fromCoroutine(self.power(self.trust))
        await reached
        working.cancel()
        await self.assertFailure(working, CancelledError)
        self.assertEqual(self.bmcs.asked[-1][:2], (b"DELETE", b"/sessions/1"))

    async def test_redirected_elsewhere(self) -> None:
        """Another host never hears a thing (R49)."""
        elsewhere = Bmcs()
        reactor = IReactorTCP(global_reactor)
        port = reactor.listenTCP(0, elsewhere, interface="127.0.0.1")  # type: ignore[arg-type]
        assert isinstance(port, Port)
        self.addCleanup(port.stopListening)
        there = f"Location: http://127.0.0.1:{port.getHost().port}/systems/1/\r\n".encode()
        self.does(answer(b"", b"308 Moved", there), close=False)
        self.assertEqual(await self.code(self.trust), "bad-response")
        self.assertEqual(elsewhere.made, 0)

    async def test_no_proxy_of_the_environment(self) -> None:
        for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            self.patch_environment(name, "http://127.0.0.1:1")
        self.assertEqual(await self.power(self.trust), "on")

    def patch_environment(self, name: str, value: str) -> None:
        before = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(
            lambda: os.environ.pop(name) if before is None else os.environ.update({name: before})
        )

    async def test_connections_are_reused_within_an_operation(self) -> None:
        """A handshake takes a weak BMC a second; after each 5xx there is a new one (W208)."""
        await self.power(self.trust)
        self.assertEqual(self.bmcs.made, 1)
        self.does(answer(b"", b"500 Oops"), close=False)
        self.assertEqual(await self.code(self.trust), "failed")
        self.assertEqual(self.bmcs.made, 4)


class OriginTests(TestCase):
    def test_an_origin_has_no_path(self) -> None:
        for url, origin in (
            ("https://bmc.example/redfish/v1", "https://bmc.example"),
            ("https://[2001:db8::1]:8443/", "https://[2001:db8::1]:8443"),
        ):
            made = HttpTransport(global_reactor, DecodedURL.from_text(url), Trust.of_anybody())
            self.assertEqual(made.origin, origin)
