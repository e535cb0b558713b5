"""Trust by pin over real handshakes: who is refused has seen no byte of a request."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from types import ModuleType

from attrs import evolve, frozen
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL.SSL import (
    TLS1_1_VERSION,
    TLS1_2_VERSION,
    TLS1_3_VERSION,
    TLS1_VERSION,
    Connection,
)
from twisted.internet import reactor as global_reactor
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IConsumer, IOpenSSLServerConnectionCreator, IReactorTCP
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.tcp import Port
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase
from twisted.web.client import Agent, HTTPConnectionPool
from twisted.web.iweb import IBodyProducer, IPolicyForHTTPS
from zope.interface import implementer

from rescriptum.gateway.keyring import SERVED, Keyring
from rescriptum.net import pinning
from rescriptum.net.keyfiles import KeyFiles
from rescriptum.web.tls import Certificate

from ..certificates import ChainServer, issued
from ..pincases import ACCEPTED, ADDRESS, NAME, Case, cases

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@implementer(IBodyProducer)
class Body:
    """Ten bytes."""

    length = 10

    def startProducing(self, consumer: IConsumer) -> Deferred[None]:
        consumer.write(b"x" * self.length)
        return succeed(None)

    def pauseProducing(self) -> None:
        """Nothing is left to hold back."""

    def resumeProducing(self) -> None:
        """Nothing is left to send."""

    def stopProducing(self) -> None:
        """Nothing is left to stop."""


class Answer(Protocol):
    """Waits for the end of a reply's body."""

    def __init__(self) -> None:
        self.ended: Deferred[None] = Deferred()

    def connectionLost(self, reason: Failure | None = None) -> None:
        self.ended.callback(None)


class Gateway(Protocol):
    """Counts what it is told, and answers once."""

    def __init__(self) -> None:
        self.seen = b""
        self.ended: Deferred[None] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        if not self.seen:
            self.transport.write(REPLY)
            self.transport.loseConnection()
        self.seen += data

    def connectionLost(self, reason: Failure | None = None) -> None:
        self.ended.callback(None)


@frozen
class Outcome:
    """
    What a client made of a server.

    :ivar verdict: the code of the refusal, or ``accepted``.
    :ivar seen: bytes of the request that the server has read.
    """

    verdict: str
    seen: int
    said: str = ""


async def attempt(
    case: Case, policy: IPolicyForHTTPS, method: bytes = b"GET", newest: int | None = None
) -> Outcome:
    """Ask the server of ``case`` once."""
    oldest = TLS1_VERSION if case.newest else None
    return await ask(ChainServer(case.chain, case.newest or newest, oldest), policy, method)


async def ask(
    shown: IOpenSSLServerConnectionCreator, policy: IPolicyForHTTPS, method: bytes = b"GET"
) -> Outcome:
    """Ask a server once, over loopback, and wait until its connection is over."""
    server = Gateway()
    factory = Factory.forProtocol(lambda: server)
    reactor = IReactorTCP(global_reactor)
    wrapped = TLSMemoryBIOFactory(shown, False, factory)
    port = reactor.listenTCP(0, wrapped, interface="127.0.0.1")  # type: ignore[arg-type]
    assert isinstance(port, Port)
    pool = HTTPConnectionPool(global_reactor, persistent=False)
    agent = Agent(global_reactor, policy, connectTimeout=10, pool=pool)
    url = f"https://127.0.0.1:{port.getHost().port}/secret".encode("ascii")
    body = Body() if method == b"POST" else None
    verdict, said = ACCEPTED, ""
    try:
        response, answer = await agent.request(method, url, None, body), Answer()
        response.deliverBody(answer)
        await answer.ended
    except Exception as e:
        error = pinning.why(e)
        verdict, said = getattr(error, "code", type(error).__name__), str(error)
    await server.ended
    await port.stopListening()
    return Outcome(verdict, len(server.seen), said)


def policy_of(module: ModuleType, case: Case) -> IPolicyForHTTPS:
    policy: IPolicyForHTTPS = (
        module.bmc_policy(case.pin)
        if case.name is None
        else module.gateway_policy([case.pin], case.name)
    )
    return policy


def mutated(old: str, new: str) -> ModuleType:
    """:returns: the product's module with one place of its text changed, under another name."""
    path = pinning.__file__
    assert path is not None
    text = Path(path).read_text()
    assert text.count(old) == 1, (text.count(old), old)
    made = ModuleType("rescriptum.net.mutated_pinning")
    made.__package__ = "rescriptum.net"
    exec(compile(text.replace(old, new), "mutated_pinning", "exec"), made.__dict__)
    return made


EPOCH = datetime.fromtimestamp(0, UTC)


def always(at: datetime) -> Callable[[], datetime]:
    return lambda: at


class Surprise(Exception):
    """Nothing that a check is expected to raise."""


def surprised(connection: Connection) -> None:
    raise Surprise("of the check")


@frozen
class Mutation:
    """
    A change to the product's text.

    :ivar told: how many of the cases go wrong by it.
    """

    label: str
    old: str
    new: str
    told: int


MUTATIONS = (
    Mutation("no partial chain", "store.set_flags(crypto.X509StoreFlags.PARTIAL_CHAIN)", "pass", 2),
    Mutation(
        "a pinned certificate that was sent is enough",
        "raise ChainInvalid(str(e)) from e",
        "pass",
        9,
    ),
    Mutation("any certificate is a CA", "is_authority(each) and ", "", 1),
    Mutation(
        "the leaf may be the CA", "for each in others if is", "for each in presented if is", 1
    ),
    Mutation("no name", "_check_name(leaf, self.name)", "pass", 3),
    Mutation(
        "a callback that raises",
        "printed and forgotten\n                tlsProtocol.failVerification(Failure())",
        "printed and forgotten\n                raise",
        20,
    ),
    Mutation("no check", "self.check(connection)", "pass", 20),
    Mutation(
        "TLS 1.1",
        "  context.set_min_proto_version(SSL.TLS1_2_VERSION)",
        "  context.set_min_proto_version(SSL.TLS1_VERSION)\n"
        "        context.set_cipher_list(b'ALL:@SECLEVEL=0')",
        2,
    ),
    Mutation("a leaf for anything", "if not _may_serve(leaf):", "if False:", 1),
    Mutation("any pin", "return any(each.matches(shown) for each in self.pins)", "return True", 7),
    Mutation("any key of a BMC", "if not self.pin.matches(shown):", "if False:", 2),
)


class PinningTests(TestCase):
    def test_there_are_31_of_them(self) -> None:
        self.assertEqual(len({each.label for each in cases()}), 31)

    async def every(self, method: bytes, newest: int) -> None:
        for case in cases():
            outcome = await attempt(case, policy_of(pinning, case), method, newest)
            self.assertEqual(outcome.verdict, case.expected, (case.label, outcome))
            if case.expected == ACCEPTED:
                self.assertTrue(outcome.seen, case.label)
            else:
                self.assertEqual(outcome.seen, 0, case.label)

    def test_get_by_tls_1_2(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self.every(b"GET", TLS1_2_VERSION))

    def test_get_by_tls_1_3(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self.every(b"GET", TLS1_3_VERSION))

    def test_post_by_tls_1_2(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self.every(b"POST", TLS1_2_VERSION))

    def test_post_by_tls_1_3(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self.every(b"POST", TLS1_3_VERSION))

    def test_the_unexpected_is_no_trust(self) -> Deferred[None]:
        """A check that fails for a reason of its own lets nothing through."""

        async def run() -> None:
            outcome = await attempt(cases()[0], pinning.PinnedPolicy(surprised))
            self.assertEqual(outcome, Outcome("Surprise", 0, "of the check"))

        return Deferred.fromCoroutine(run())

    def test_an_old_pin_and_a_new_one(self) -> Deferred[None]:
        """A CA is changed by pinning both for a while."""

        async def run() -> None:
            case, other = cases()[0], cases()[-1]
            for pins in ([other.pin, case.pin], [case.pin, other.pin]):
                outcome = await attempt(case, pinning.gateway_policy(pins, NAME))
                self.assertEqual(outcome.verdict, ACCEPTED)

        return Deferred.fromCoroutine(run())

    def test_the_clock_decides_over_dates(self) -> Deferred[None]:
        """A machine that wakes in 1970 takes the day when its image was built."""

        async def run() -> None:
            case, now = cases()[0], datetime.now(UTC)
            for clock, not_before, verdict in (
                (EPOCH, None, "chain-invalid"),
                (EPOCH, now, ACCEPTED),
                (now, EPOCH, ACCEPTED),
                (now + timedelta(days=3), now, "chain-invalid"),
            ):
                policy = pinning.gateway_policy(
                    [case.pin], NAME, not_before=not_before, clock=always(clock)
                )
                self.assertEqual((await attempt(case, policy)).verdict, verdict)

        return Deferred.fromCoroutine(run())

    def test_a_gateway_by_its_own_keys(self) -> Deferred[None]:
        """What a first start makes is what agents take; after a renewal as well."""
        files = KeyFiles(Path(self.mktemp()))
        files.open()
        now = datetime.now(UTC)
        ring = Keyring.open(files, now)
        ring.served(files, [NAME, ADDRESS], now)
        path = files.path / SERVED
        shown = Certificate(path, path)

        async def run() -> None:
            pins = [ring.authority.pin]
            for name, verdict in (
                (NAME, ACCEPTED),
                (ADDRESS, ACCEPTED),
                ("other.internal", "name-mismatch"),
            ):
                outcome = await ask(shown, pinning.gateway_policy(pins, name))
                self.assertEqual(outcome.verdict, verdict, outcome)
            self.assertTrue(ring.served(files, ["other.internal"], now))
            shown.reload()
            policy = pinning.gateway_policy(pins, "other.internal")
            self.assertEqual((await ask(shown, policy)).verdict, ACCEPTED)
            ancient = pinning.gateway_policy(
                pins, "other.internal", not_before=now - timedelta(days=700), clock=always(EPOCH)
            )
            self.assertEqual((await ask(shown, ancient)).verdict, ACCEPTED)

        return Deferred.fromCoroutine(run())

    def test_without_a_pin_the_system_decides(self) -> Deferred[None]:
        """Its authorities, and the configured name in place of the URL's host."""
        [case] = [each for each in cases() if each.label == "issued by the root itself"]
        without = (issued(NAME, case.chain[1]), case.chain[1])
        path = Path(self.mktemp())
        path.write_bytes(case.chain[1].certificate.public_bytes(Encoding.PEM))
        old = os.environ.get("SSL_CERT_FILE")
        os.environ["SSL_CERT_FILE"] = str(path)
        self.addCleanup(self.restore, "SSL_CERT_FILE", old)

        async def run() -> None:
            for name, server, verdict in (
                (NAME, case, ACCEPTED),
                (ADDRESS, cases()[0], ACCEPTED),
                ("other.internal", case, "name-mismatch"),
                (NAME, evolve(case, chain=without), "name-mismatch"),
                (NAME, cases()[8], "chain-invalid"),
                (NAME, evolve(case, newest=TLS1_1_VERSION), "tls-error"),
            ):
                for method in (b"GET", b"POST"):
                    outcome = await attempt(server, pinning.gateway_policy([], name), method)
                    self.assertEqual(outcome.verdict, verdict, (name, outcome))
                    self.assertEqual(bool(outcome.seen), verdict == ACCEPTED)

        return Deferred.fromCoroutine(run())

    def restore(self, name: str, old: str | None) -> None:
        if old is None:
            del os.environ[name]
        else:
            os.environ[name] = old


class MutationTests(TestCase):
    """What each check is for: without it, some server is taken for another."""

    async def told(self, module: ModuleType) -> list[str]:
        wrong = []
        for case in cases():
            outcome = await attempt(case, policy_of(module, case))
            if outcome.verdict != case.expected:
                wrong.append(f"{case.label}: {outcome.verdict}")
        return wrong

    def test_the_cases_tell_each_mutation(self) -> Deferred[None]:
        self.patch(sys, "stderr", StringIO())  # where an error in a callback ends

        async def run() -> None:
            for each in MUTATIONS:
                wrong = await self.told(mutated(each.old, each.new))
                self.assertEqual(len(wrong), each.told, (each.label, wrong))

        return Deferred.fromCoroutine(run())

    def test_catching_our_own_errors_alone_is_not_enough(self) -> Deferred[None]:
        self.patch(sys, "stderr", StringIO())
        module = mutated(
            "except BaseException:  # noqa: BLE001 - what", "except Unverified:  # what"
        )

        async def run() -> None:
            outcome = await attempt(cases()[0], module.PinnedPolicy(surprised))
            self.assertEqual(outcome.verdict, ACCEPTED)

        return Deferred.fromCoroutine(run())
