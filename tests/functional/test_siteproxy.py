"""Requests of a site agent to real servers: on loopback, and those of an agent in a namespace."""

import base64
import contextlib
import ctypes
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import cast

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.interfaces import IReactorTCP, IStreamClientEndpoint
from twisted.internet.protocol import Protocol, ServerFactory, connectionDone
from twisted.internet.tcp import Port
from twisted.internet.threads import deferToThread
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import SkipTest, SynchronousTestCase, TestCase

from rescriptum.contract.certificates import certificate_pin
from rescriptum.contract.commands import Result
from rescriptum.contract.frames import ResultFrame
from rescriptum.contract.pins import Pin
from rescriptum.contract.proxying import LONGEST_BODY, HttpProxyResult
from rescriptum.contract.specs import ProxyTarget
from rescriptum.contract.structure import JSON, structured
from rescriptum.errors import RescriptumError, Unavailable, Unverified
from rescriptum.siteproxy.answer import Answer
from rescriptum.siteproxy.client import ProxyClient
from rescriptum.siteproxy.rule import Allowed
from rescriptum.siteproxy.url import parsed
from tests.agentprocess import TWISTD, AgentProcess
from tests.certificates import ChainServer, Issued, issued
from tests.functional.test_agent import AgentCase, command
from tests.functional.test_agent_gateway import AgentsCase
from tests.processes import free_port

NAME = "switch-1.lab"
#: ``CLONE_NEWNET`` of setns(2).
_NETWORK = 0x40000000
OK = b"HTTP/1.1 200 OK\r\n"


class Line(Protocol):
    """One connection of a server. :ivar gone: fires when it is over."""

    def __init__(self) -> None:
        self.heard = b""
        self.gone: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        cast(Server, self.factory).lines.append(self)

    def dataReceived(self, data: bytes) -> None:
        server = cast(Server, self.factory)
        first, self.heard = not self.heard, self.heard + data
        if first:
            assert self.transport is not None
            for each in server.says:
                self.transport.write(each)
            if server.hangs_up:
                self.transport.loseConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.gone.callback(None)


class Server(ServerFactory):
    """:ivar says: as soon as something was said. :ivar hangs_up: whether it closes then."""

    protocol = Line
    noisy = False

    def __init__(self, *says: bytes, hangs_up: bool = False) -> None:
        self.says = says
        self.hangs_up = hangs_up
        self.lines: list[Line] = []


@cache
def own() -> Issued:
    """:returns: a certificate that nobody vouches for."""
    return issued("switch", names=[NAME])


class LoopbackTests(TestCase):
    """The rule lets nobody connect to loopback: these put a socket in the place of the checked."""

    timeout = 60

    def serve(self, server: Server, chain: Sequence[Issued] = ()) -> None:
        self.server = server
        listen = IReactorTCP(reactor).listenTCP
        if chain:
            shown = TLSMemoryBIOFactory(ChainServer(chain), False, server)
            port = listen(0, shown, interface="127.0.0.1")  # type: ignore[arg-type]
        else:
            port = listen(0, server, interface="127.0.0.1")
        assert isinstance(port, Port)
        self.addCleanup(self.over, port)
        self.port = port.getHost().port

    async def over(self, port: Port) -> None:
        await port.stopListening()
        for each in self.server.lines:
            assert each.transport is not None
            each.transport.loseConnection()
            await each.gone

    async def ask(self, url: str, pin: str = "", body: bytes = b"") -> Answer:
        def connect(allowed: Allowed) -> IStreamClientEndpoint:
            self.assertEqual(str(allowed.address), "10.1.2.3")
            made: IStreamClientEndpoint = TCP4ClientEndpoint(reactor, "127.0.0.1", self.port)
            return made

        client = ProxyClient(reactor, None, connect)  # type: ignore[arg-type]
        allowed = Allowed(parsed(url), "GET", ip_address("10.1.2.3"))
        return await client.perform(allowed, (), body, Pin.parse(pin) if pin else None)

    async def refused(self, url: str, pin: str = "") -> RescriptumError:
        try:
            await self.ask(url, pin)
        except RescriptumError as e:
            return e
        raise AssertionError("it was answered")

    async def test_a_long_body(self) -> None:
        """5 MiB, by length, in chunks or until the end: cut, and the connection is gone."""
        body = [b"x" * 65536] * 80
        for head, pieces in (
            (b"Content-Length: %d" % (65536 * 80), body),
            (b"Transfer-Encoding: chunked", [b"10000\r\n%s\r\n" % each for each in body]),
            (b"Connection: close", body),
        ):
            self.serve(Server(OK + head + b"\r\n\r\n", *pieces))
            answer = await self.ask("http://switch-1.lab/")
            self.assertEqual(len(answer.body), LONGEST_BODY)
            self.assertTrue(answer.truncated)
            await self.server.lines[0].gone

    async def test_a_head_without_end(self) -> None:
        self.serve(Server(OK, *[b"A: b\r\n" * 1000] * 100))
        error = await self.refused("http://switch-1.lab/")
        self.assertEqual(error.code, "too-large")
        await self.server.lines[0].gone

    async def test_what_is_no_answer(self) -> None:
        """Garbage, nothing, and what breaks off: in words, and no connection is left."""
        for says in (
            b"",
            b"garbage\r\n\r\n",
            OK,
            OK + b"Content-Length: 9\r\n\r\nhi",
            OK + b"Content-Length: x\r\n\r\nhi",
            OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"\0" * 1000,
        ):
            self.serve(Server(says, hangs_up=True))
            error = await self.refused("http://switch-1.lab/")
            self.assertIsInstance(error, Unavailable, says)
            self.assertNotIn("Traceback", str(error))
            await self.server.lines[0].gone

    async def test_nobody_listens(self) -> None:
        self.serve(Server())
        self.port = free_port()
        error = await self.refused("http://switch-1.lab/")
        self.assertIn("cannot connect to switch-1.lab", str(error))

    async def test_redirects(self) -> None:
        """Each is the answer: nothing else is connected to."""
        for status in (301, 302, 303, 307, 308):
            self.serve(
                Server(
                    b"HTTP/1.1 %d Moved\r\nLocation: http://127.0.0.1:%d/\r\n"
                    b"Content-Length: 0\r\n\r\n" % (status, free_port())
                )
            )
            answer = await self.ask("http://switch-1.lab/")
            self.assertEqual(answer.status, status)
            self.assertEqual(len(self.server.lines), 1)

    async def test_no_proxy_of_the_environment(self) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            self.patch(os, "environ", {**os.environ, name: f"http://127.0.0.1:{free_port()}"})
        self.serve(Server(OK + b"Content-Length: 2\r\n\r\nhi"))
        self.assertEqual((await self.ask("http://switch-1.lab/")).body, b"hi")
        self.assertTrue(self.server.lines[0].heard.startswith(b"GET / HTTP/1.1\r\n"))

    async def test_a_pinned_key(self) -> None:
        """The very key is trusted, whoever vouches for it; the name of the URL is indicated."""
        self.serve(Server(OK + b"Content-Length: 2\r\n\r\nhi"), [own()])
        pin = certificate_pin(own().certificate).text
        answer = await self.ask("https://switch-1.lab:8443/a", pin)
        self.assertEqual(answer.body, b"hi")
        self.assertIn(b"Host: switch-1.lab:8443\r\n", self.server.lines[0].heard)
        server = self.server.lines[0].transport
        name = server.getHandle().get_servername()  # type: ignore[union-attr]
        self.assertEqual(name, NAME.encode())

    async def test_an_address_is_never_indicated(self) -> None:
        """RFC 6066 section 3."""
        self.serve(Server(OK + b"Content-Length: 0\r\n\r\n"), [own()])
        await self.ask("https://10.1.2.3/", certificate_pin(own().certificate).text)
        server = self.server.lines[0].transport
        self.assertIsNone(server.getHandle().get_servername())  # type: ignore[union-attr]

    async def test_another_key(self) -> None:
        """Not a byte of the request is sent to it."""
        self.serve(Server(OK + b"Content-Length: 0\r\n\r\n"), [own()])
        other = certificate_pin(issued("other").certificate).text
        error = await self.refused("https://switch-1.lab/", other)
        self.assertEqual(error.code, "pin-mismatch")
        await self.server.lines[0].gone
        self.assertEqual(self.server.lines[0].heard, b"")

    async def test_nobody_vouches(self) -> None:
        """Without a pin the system's trust store decides: a certificate of its own will not do."""
        self.serve(Server(OK + b"Content-Length: 0\r\n\r\n"), [own()])
        error = await self.refused("https://switch-1.lab/")
        self.assertIsInstance(error, Unverified)
        await self.server.lines[0].gone
        self.assertEqual(self.server.lines[0].heard, b"")


def ip(*argv: str) -> None:
    subprocess.run(["ip", *argv], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def within(space: str) -> Iterator[None]:
    """What this thread opens meanwhile, it opens in there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with (
        Path("/proc/thread-self/ns/net").open() as here,
        (Path("/run/netns") / space).open() as there,
    ):
        if libc.setns(there.fileno(), _NETWORK):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            if libc.setns(here.fileno(), _NETWORK):
                raise OSError(ctypes.get_errno(), "setns")


class _Space:
    """
    A network namespace.

    :ivar name: of it.
    """

    def __init__(self, case: TestCase | SynchronousTestCase) -> None:
        if os.geteuid() or not any(Path(each, "ip").exists() for each in ("/sbin", "/usr/sbin")):
            raise SkipTest("network namespaces need root, and iproute2")
        self.name = f"rescriptum-proxy-{os.getpid()}"
        ip("netns", "add", self.name)
        case.addCleanup(ip, "netns", "del", self.name)
        ip("-n", self.name, "link", "set", "lo", "up")
        for address in ("10.78.0.1/32", "10.78.0.2/32", "10.79.0.1/32"):
            ip("-n", self.name, "address", "add", address, "dev", "lo")


class GatewayTests(AgentsCase):
    """An operator, a gateway, an agent and a machine: all of them in one network namespace."""

    def setUp(self) -> None:
        inside = within(_Space(self).name)
        inside.__enter__()
        self.addCleanup(inside.__exit__, None, None, None)
        super().setUp()

    def serve(self) -> list[bytes]:
        """:returns: what is asked at 10.78.0.1."""
        heard: list[bytes] = []
        listening = socket.create_server(("10.78.0.1", 8080))
        self.addCleanup(listening.close)

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection = listening.accept()[0]
                    with connection:
                        heard.append(connection.recv(65536))
                        connection.sendall(OK + b"Content-Length: 2\r\n\r\nhi")

        thread = Thread(target=answer, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 10)
        self.addCleanup(listening.shutdown, socket.SHUT_RDWR)
        return heard

    def result(self, agent: AgentProcess, **payload: object) -> JSON:
        given = {"target_node_id": "switch-1", "url": "http://10.78.0.1:8080/ports", **payload}
        sent = self.gateway.operate(
            "POST",
            "commands",
            {
                "node": self.node(),
                "kind": "site.httpProxy",
                "payload": given,
                "secret_refs": ["token"],
            },
        )
        agent.until(lambda: self.state(str(sent["id"])) in ("done", "failed"))
        made = self.gateway.operate("GET", f"commands/{sent['id']}")["result"]
        assert isinstance(made, dict)
        return made

    def test_from_an_operator_to_a_machine_and_back(self) -> None:
        """Not before its address is written down, and not any more when it is taken back."""
        heard = self.serve()
        self.gateway.operate("PUT", "secrets/token", {"value": "Bearer hunter2"})
        self.gateway.operate("POST", "machines", {"name": "switch-1", "site": "lab"})
        here = self.here / "a"
        agent = self.agent(token=self.gateway.token())
        agent.until(lambda: self.status()["session"]["state"] == "live")  # type: ignore[index]
        self.assertEqual(self.result(agent)["code"], "request-denied")
        self.gateway.operate("PUT", "machines/switch-1", {"addresses": ["10.78.0.1"]})
        agent.until(lambda: self.listed() == 1)
        secret = [{"name": "Authorization", "ref": "token"}]
        made = self.result(agent, secret_headers=secret)
        self.assertEqual((made["ok"], made["code"]), (True, "ok"), made)
        self.assertEqual(base64.b64decode(made["data"]["body"]), b"hi")  # type: ignore[index]
        self.assertIn(b"\r\nAuthorization: Bearer hunter2\r\n", heard[0])
        self.gateway.operate("PUT", "machines/switch-1", {"addresses": []})
        agent.until(lambda: self.listed() == 0)
        self.assertEqual(self.result(agent)["code"], "request-denied")
        self.assertEqual(len(heard), 1)
        self.assertEqual(agent.stop(), 0)
        for path in (here / "log", *(here / "d").iterdir()):
            if path.is_file():
                self.assertNotIn(b"hunter2", path.read_bytes(), path)
        self.assertNotIn("hunter2", self.gateway.text)
        self.assertNotIn("Traceback", agent.log + self.gateway.text)

    def listed(self) -> object:
        sections = self.status()["sections"]
        assert isinstance(sections, list)
        found = [each["detail"]["targets"] for each in sections if each["name"] == "proxy"]
        return found[0] if found else None


class AgentTests(AgentCase):
    """An agent and everything that it reaches: in a network namespace."""

    def setUp(self) -> None:
        self.space = _Space(self).name
        with within(self.space):
            super().setUp()
        self.servers: dict[str, Server] = {}

    def configure(self, more: str = "", port: int = 0) -> None:
        super().configure('[site]\nbmc_networks = ["10.79.0.0/16"]\n')
        text = self.config.read_text().replace('site = "lyon"\n', "")
        self.config.write_text(text.replace("[site]\n", '[site]\nname = "lyon"\n'))

    def serve(self, address: str, server: Server) -> None:
        self.servers[address] = server
        with within(self.space):
            port = IReactorTCP(reactor).listenTCP(8080, server, interface=address)
        self.addCleanup(port.stopListening)

    async def ran(self, name: str, **payload: object) -> Result:  # type: ignore[override]
        given: JSON = {"target_node_id": "switch-1", **payload}
        self.gateway.command(command(name, "site.httpProxy", **given))
        await self.until(lambda: self.of(name), self.agents[0])
        return self.of(name)[0].result

    def of(self, name: str) -> list[ResultFrame]:
        frames = [each for each in self.gateway.frames if isinstance(each, ResultFrame)]
        return [each for each in frames if each.command_id == name]

    async def test_from_a_command_to_its_result(self) -> None:
        """A machine that is listed is asked; a BMC, another machine and a redirect's are not."""
        self.serve("10.78.0.1", Server(OK + b"X-Echo: value of key\r\nContent-Length: 2\r\n\r\nhi"))
        moved = (
            b"HTTP/1.1 302 Found\r\nLocation: http://10.78.0.1:8080/\r\nContent-Length: 0\r\n\r\n"
        )
        self.serve("10.78.0.2", Server(moved))
        self.serve("10.79.0.1", Server(OK + b"Content-Length: 0\r\n\r\n"))
        self.gateway.targets = (
            ProxyTarget("switch-1", ("10.78.0.1", "10.79.0.1", "127.0.0.1", "localhost")),
            ProxyTarget("switch-2", ("10.78.0.2",)),
        )
        agent = self.start(entry=["ip", "netns", "exec", self.space, *TWISTD])
        await self.until(lambda: self.gateway.beats and self.gateway.streaming, agent)
        secret = [{"name": "X-Key", "ref": "key"}]
        result = await self.ran(
            "c1",
            url="http://10.78.0.1:8080/x;y?z",
            method="POST",
            body=base64.b64encode(b"body").decode(),
            secret_headers=secret,
        )
        self.assertTrue(result.ok, result)
        made = structured(HttpProxyResult, result.data)
        self.assertEqual((made.status, base64.b64decode(made.body)), (200, b"hi"))
        self.assertIn(("X-Echo", "(secret)"), [(each.name, each.value) for each in made.headers])
        heard = self.servers["10.78.0.1"].lines[0].heard
        self.assertTrue(heard.startswith(b"POST /x;y?z HTTP/1.1\r\n"), heard)
        self.assertIn(b"X-Key: value of key\r\n", heard)
        self.assertTrue(heard.endswith(b"body"))
        result = await self.ran("c2", url="http://10.78.0.2:8080/", target_node_id="switch-2")
        self.assertEqual(structured(HttpProxyResult, result.data).status, 302)
        for name, url, rule in (
            ("c3", "http://10.78.0.2:8080/", "target"),
            ("c4", "http://10.79.0.1:8080/", "bmc"),
            ("c5", "http://127.0.0.1:8080/", "loopback"),
            ("c6", "http://localhost:8080/", "loopback"),
            ("c7", "http://10.78.0.1:8080/%72edfish/v1", "redfish"),
            ("c8", "http://0x0a4e0001:8080/", "numeric-host"),
        ):
            result = await self.ran(name, url=url, secret_headers=secret)
            self.assertEqual(result.code, "request-denied", url)
            self.assertTrue(result.detail.startswith(f"{rule}: "), result.detail)
        self.assertEqual(len(self.gateway.secrets), 1)
        self.assertEqual([len(each.lines) for each in self.servers.values()], [1, 1, 0])
        self.gateway.targets = ()
        self.gateway.desire()
        result = await self.ran("c9", url="http://10.78.0.1:8080/")
        self.assertEqual(result.code, "request-denied")
        self.assertEqual(await deferToThread(agent.stop), 0)
        self.assertNotIn("Traceback", agent.log)
        for path in (agent._log, *self.data.iterdir()):
            if path.is_file():
                self.assertNotIn(b"value of key", path.read_bytes(), path)
