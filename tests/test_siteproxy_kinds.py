"""Tests for ``rescriptum.siteproxy.kinds`` and what it is told: from a command to its result."""

import base64
import gzip
import random
from collections.abc import Coroutine, Sequence
from typing import Any

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.kinds import KindTable
from rescriptum.contract.commands import LONGEST_RESULT, Command, Result
from rescriptum.contract.joining import Role
from rescriptum.contract.pins import Pin
from rescriptum.contract.proxying import (
    LONGEST_BODY,
    LONGEST_HEAD,
    LONGEST_SENT,
    Encoding,
    HttpHeader,
    HttpProxyRequest,
    HttpProxyResult,
)
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.reports import State
from rescriptum.contract.specs import NodeSpec, ProxyTarget, SiteSpec
from rescriptum.contract.structure import JSON, plain, rendered, structured
from rescriptum.siteproxy.answer import BLANKED, Answer
from rescriptum.siteproxy.client import ProxyClient
from rescriptum.siteproxy.kinds import LANES, HttpProxy
from rescriptum.siteproxy.rule import Allowed
from rescriptum.siteproxy.section import ProxySection
from rescriptum.values import Secret
from tests.proxycases import BMCS, NETWORKS, NODE, SPEC

GOOD: JSON = {"target_node_id": NODE, "url": "http://10.1.2.3/x"}
PIN = "sha256/" + base64.b64encode(b"k" * 32).decode()


@define
class Sent:
    allowed: Allowed
    headers: Sequence[tuple[str, str]]
    body: bytes
    pin: Pin | None


@define
class Outside:
    """
    The network.

    :ivar answers: of lookups, one after the other. :ivar answer: of requests; None: never one.
    """

    answers: list[tuple[str, ...]] = field(factory=list)
    answer: Answer | None = field(factory=lambda: Answer(200))
    looked_up: list[str] = field(factory=list)
    sent: list[Sent] = field(factory=list)
    clock: Clock = field(factory=Clock)

    async def resolve(self, host: str) -> tuple[str, ...]:
        self.looked_up.append(host)
        return self.answers.pop(0)

    async def perform(
        self, allowed: Allowed, headers: Sequence[tuple[str, str]], body: bytes, pin: Pin | None
    ) -> Answer:
        self.sent.append(Sent(allowed, headers, body, pin))
        if self.answer is None:
            await Deferred()
        assert self.answer is not None
        return self.answer

    async def within(self, seconds: float, work: Coroutine[Any, Any, JSON]) -> JSON:
        return await ProxyClient(self.clock, None).within(seconds, work)  # type: ignore[arg-type]


@define
class Running:
    secrets: dict[str, str] = field(factory=dict)
    asked: list[str] = field(factory=list)

    async def secret(self, ref: str) -> Secret:
        self.asked.append(ref)
        if ref not in self.secrets:
            raise Rejected("secret-refused")
        return Secret(self.secrets[ref])


class KindTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.outside = Outside()
        self.section = ProxySection()
        self.desire(SiteSpec(proxy_targets=SPEC))
        self.running = Running({"key": "hunter2"})
        kind = HttpProxy(self.section, lambda: BMCS, NETWORKS, self.outside)
        self.table = KindTable(Role.SITE, [kind])

    def desire(self, site: SiteSpec | None) -> None:
        told = Deferred.fromCoroutine(self.section.converge(NodeSpec(1, site)))
        self.assertEqual(self.successResultOf(told).state, State.READY)

    def begin(self, **payload: object) -> Deferred[JSON]:
        command = Command("c1", "n1", "site.httpProxy", {**GOOD, **payload}, "w1", "s1", 0, 60)
        kind = self.table.find(command.kind)
        made = self.table.payload(command)
        kind.resource(made)
        return Deferred.fromCoroutine(kind.run(self.running, made))  # type: ignore[arg-type]

    def run_(self, **payload: object) -> HttpProxyResult:
        return structured(HttpProxyResult, self.successResultOf(self.begin(**payload)))

    def refused(self, **payload: object) -> Rejected:
        try:
            begun = self.begin(**payload)
        except Rejected as e:
            return e
        return self.failureResultOf(begun, Rejected).value  # type: ignore[no-any-return]

    def test_a_request(self) -> None:
        """Method, headers in their order, secrets among them, body and pin go out."""
        self.outside.answer = Answer(
            302, (HttpHeader("X", "2"), HttpHeader("A", "1"), HttpHeader("X", "1")), b"\xffhi"
        )
        result = self.run_(
            method="PUT",
            headers=[{"name": "X-A", "value": "b"}],
            secret_headers=[{"name": "X-Key", "ref": "key"}],
            body=base64.b64encode(b"\0body").decode(),
            pin=PIN,
        )
        sent = self.outside.sent[0]
        self.assertEqual((sent.allowed.method, sent.body), ("PUT", b"\0body"))
        self.assertEqual(list(sent.headers), [("X-A", "b"), ("X-Key", "hunter2")])
        self.assertEqual(str(sent.pin), PIN)
        self.assertEqual((result.status, base64.b64decode(result.body)), (302, b"\xffhi"))
        shown = [(each.name, each.value) for each in result.headers]
        self.assertEqual(shown, [("A", "1"), ("X", "2"), ("X", "1")])
        self.assertFalse(result.truncated)

    def test_what_is_refused_asks_for_nothing(self) -> None:
        """No lookup, no secret and no connection; what was denied is named by its rule."""
        secret = [{"name": "X-Key", "ref": "key"}]
        for payload in (
            {"url": "http://switch-1.lab/redfish"},
            {"url": "http://127.0.0.1/"},
            {"url": "http://bmc-1.lab/"},
            {"url": "http://switch-1.lab/", "target_node_id": "nobody"},
        ):
            error = self.refused(secret_headers=secret, **payload)
            self.assertEqual(error.code, "request-denied")
        self.assertEqual((self.outside.looked_up, self.running.asked), ([], []))
        self.assertEqual(self.outside.sent, [])

    def test_a_name_is_looked_up_once(self) -> None:
        """A resolver that would say another thing the second time is not asked a second time."""
        self.outside.answers = [("10.1.2.3", "192.168.7.7"), ("127.0.0.1",)]
        self.run_(url="http://alias.lab:8080/")
        self.assertEqual(self.outside.looked_up, ["alias.lab"])
        allowed = self.outside.sent[0].allowed
        self.assertEqual((str(allowed.address), allowed.target.port), ("10.1.2.3", 8080))
        self.assertEqual(allowed.target.authority, "alias.lab:8080")

    def test_one_bad_address_among_others(self) -> None:
        self.outside.answers = [("10.1.2.3", "127.0.0.1")]
        error = self.refused(
            url="http://switch-1.lab/", secret_headers=[{"name": "X-Key", "ref": "key"}]
        )
        self.assertTrue(error.detail.startswith("loopback: "), error.detail)
        self.assertEqual((self.running.asked, self.outside.sent), ([], []))

    def test_what_is_no_payload(self) -> None:
        for payload in (
            {"url": ""},
            {"url": "h" * 2049},
            {"target_node_id": ""},
            {"body": "not base64!"},
            {"body": "YQ"},
            {"body": "A" * (LONGEST_SENT + 4)},
            {"pin": "sha256/short"},
            {"headers": [{"name": "a"}]},
            {"headers": [{"name": "a", "value": "b"}] * 65},
            {"secret_headers": [{"name": "a", "ref": "a b"}]},
            {"timeout_s": "5"},
            {"surprise": 1},
        ):
            with self.assertRaises(Rejected, msg=str(payload)) as caught:
                self.begin(**payload)  # before it is in the journal
            self.assertEqual(caught.exception.code, "invalid-payload", payload)

    def test_its_time(self) -> None:
        """1 to 60 seconds; any other number, and none, is 30."""
        for said, seconds in ((0, 30), (-1, 30), (1, 1), (60, 60), (61, 30), (10**9, 30)):
            self.outside = Outside(answer=None)
            self.setUp_client()
            begun = self.begin(timeout_s=said)
            self.outside.clock.advance(seconds - 0.1)
            self.assertNoResult(begun)
            self.outside.clock.advance(0.2)
            self.assertEqual(self.failureResultOf(begun, Rejected).value.code, "timeout")
            self.assertEqual(self.outside.clock.getDelayedCalls(), [])

    def setUp_client(self) -> None:
        kind = HttpProxy(self.section, lambda: BMCS, NETWORKS, self.outside)
        self.table = KindTable(Role.SITE, [kind])

    def test_it_has_longer_than_any_request(self) -> None:
        self.assertGreater(self.table.find("site.httpProxy").timeout_s, 60)

    def test_a_secret_that_is_none_of_the_workflow(self) -> None:
        error = self.refused(secret_headers=[{"name": "X-Key", "ref": "other"}])
        self.assertEqual(error.code, "secret-refused")
        self.assertEqual(self.outside.sent, [])

    def test_a_secret_that_is_no_header(self) -> None:
        """It is refused like any other value, and not repeated."""
        self.running.secrets["key"] = "hunter2\r\nHost: 8.8.8.8"
        error = self.refused(secret_headers=[{"name": "X-Key", "ref": "key"}])
        self.assertTrue(error.detail.startswith("header: "), error.detail)
        self.assertNotIn("hunter2", str(error))
        self.assertEqual(self.outside.sent, [])

    def test_a_machine_that_repeats_a_secret(self) -> None:
        """What it says word for word stands in no result."""
        self.outside.answer = Answer(200, (HttpHeader("Echo", "k=hunter2"),), b"<hunter2> hunter2")
        result = self.run_(secret_headers=[{"name": "X-Key", "ref": "key"}])
        self.assertEqual(result.headers[0].value, f"k={BLANKED}")
        self.assertEqual(base64.b64decode(result.body).decode(), f"<{BLANKED}> {BLANKED}")
        self.running.secrets["key"] = ""
        self.outside.answer = Answer(200, (), b"as it is")
        result = self.run_(secret_headers=[{"name": "X-Key", "ref": "key"}])
        self.assertEqual(base64.b64decode(result.body), b"as it is")

    def test_a_secret_that_is_cut_with_its_body(self) -> None:
        """Its beginning goes; of a body that is whole, what looks like one stays."""
        self.outside.answer = Answer(200, (), b"a hunter2 hunter", truncated=True)
        result = self.run_(secret_headers=[{"name": "X-Key", "ref": "key"}])
        self.assertEqual(base64.b64decode(result.body).decode(), f"a {BLANKED} ")
        self.outside.answer = Answer(200, (), b"a hunter")
        result = self.run_(secret_headers=[{"name": "X-Key", "ref": "key"}])
        self.assertEqual(base64.b64decode(result.body), b"a hunter")

    def test_nothing_is_listed(self) -> None:
        """Before the gateway has said anything, and once it takes everything back."""
        self.section.targets = ()
        self.assertEqual(self.refused().code, "request-denied")
        for none in (SiteSpec(), None):
            self.desire(SiteSpec(proxy_targets=(ProxyTarget(NODE, ("10.1.2.3",)),)))
            self.assertEqual(self.run_().status, 200)
            self.desire(none)
            self.assertEqual(self.refused().code, "request-denied")

    def test_lanes(self) -> None:
        """One request at a time to a machine, and few at once to all of them."""
        kind = self.table.find("site.httpProxy")
        keys = {
            kind.resource(HttpProxyRequest(f"node-{number}", "http://a/")) for number in range(100)
        }
        self.assertEqual(len(keys), LANES)
        self.assertNotIn("", keys)

    def test_nothing_secret_is_shown(self) -> None:
        """Neither by a request nor by an answer that somebody logs."""
        request = HttpProxyRequest(
            NODE, "http://a/?hunter2", headers=(HttpHeader("A", "hunter2"),), body="hunter2"
        )
        answer = Answer(200, (HttpHeader("A", "hunter2"),), b"hunter2")
        for each in (request, answer, answer.result()):
            self.assertNotIn("hunter2", repr(each))


class ResultTests(SynchronousTestCase):
    def test_a_short_body(self) -> None:
        made = HttpProxyResult.of(200, (), b"hi", truncated=True)
        self.assertEqual((made.body, made.encoding, made.truncated), ("aGk=", Encoding.NONE, True))

    def test_a_long_text(self) -> None:
        """A whole MiB of what is written for people or programs fits, compressed."""
        body = b'{"interface": "ethernet1/1", "state": "up"}\n' * (LONGEST_BODY // 44)
        made = HttpProxyResult.of(200, (), body, truncated=False)
        self.assertEqual((made.encoding, made.truncated), (Encoding.GZIP, False))
        self.assertEqual(gzip.decompress(base64.b64decode(made.body)), body)

    def test_what_cannot_be_compressed(self) -> None:
        """As much as fits is there, and it is said that there was more."""
        body = random.Random(1).randbytes(LONGEST_BODY)
        made = HttpProxyResult.of(200, (), body, truncated=False)
        kept = base64.b64decode(made.body)
        self.assertEqual((made.encoding, made.truncated), (Encoding.NONE, True))
        self.assertEqual(kept, body[: len(kept)])
        self.assertGreater(len(kept), 140 * 1024)
        self.assertGreater(self.size(made), LONGEST_RESULT - 16)
        self.assertLessEqual(self.size(made), LONGEST_RESULT)
        exactly = HttpProxyResult.of(200, (), kept, truncated=False)
        self.assertEqual(exactly.truncated, False)

    @given(
        st.text(st.characters(max_codepoint=255), max_size=60),
        st.integers(1, 200),
        st.integers(0, 200 * 1024),
        st.booleans(),
    )
    def test_it_always_fits(self, value: str, times: int, length: int, truncated: bool) -> None:
        """Whatever a head and a body of the longest sort hold."""
        headers = (HttpHeader("A", (value * times)[:LONGEST_HEAD]),)
        body = random.Random(length).randbytes(length)
        made = HttpProxyResult.of(200, headers, body, truncated)
        self.assertLessEqual(self.size(made), LONGEST_RESULT)
        self.assertTrue(made.truncated or len(base64.b64decode(made.body)) == length)

    def size(self, made: HttpProxyResult) -> int:
        return len(rendered(Result(True, "ok", data=plain(made))))
