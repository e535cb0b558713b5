"""Tests for ``rescriptum.gateway.replies``."""

import json
from collections.abc import Awaitable

from attrs import field, frozen
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.refusals import REFUSALS, Rejected
from rescriptum.errors import NotFound, RescriptumError, Unavailable
from rescriptum.gateway.replies import JSONRoutes, message, ok, problem, refused
from rescriptum.web.reply import Finished, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import Answer, Routes, answer

PEER = ("192.0.2.7", 50000)


@frozen
class Thing:
    name: str
    size: int = field(default=1)


class Things:
    routes: Routes = JSONRoutes()

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    @routes.get("v1/things/<name>")
    def thing(self, request: Request, name: str) -> Reply:
        if self.error is not None:
            raise self.error
        return ok(Thing(name))

    @routes.put("v1/things/<name>")
    @routes.patch("v1/things/<name>")
    @routes.post("v1/things")
    async def made(self, request: Request, name: str = "") -> Reply:
        if self.error is not None:
            raise self.error
        return ok(message(Thing, request), 201)

    @routes.delete("v1/things/<name>")
    def gone(self, request: Request, name: str) -> Awaitable[Answer]:
        done: Deferred[Answer] = Deferred()
        done.callback(ok({"gone": name}))
        return done

    def finished(self, done: Finished) -> None:
        """Nobody asks."""

    def closed(self, peer: tuple[str, int]) -> None:
        """Nobody asks."""


class RepliesTests(SynchronousTestCase):
    def ask(
        self, method: str, target: str, body: bytes = b"", error: Exception | None = None
    ) -> Reply:
        request = Request(method, target, PEER, body=body)
        reply = self.successResultOf(Deferred.fromCoroutine(answer(Things(error), request)))
        assert isinstance(reply, Reply)
        return reply

    def test_values_are_json_that_nobody_keeps(self) -> None:
        reply = self.ask("GET", "/v1/things/a")
        self.assertEqual((reply.status, reply.body), (200, b'{"name":"a","size":1}'))
        self.assertEqual(reply.media_type, "application/json")
        self.assertIn(("Cache-Control", "no-store"), reply.headers)
        self.assertEqual(self.ask("DELETE", "/v1/things/a").body, b'{"gone":"a"}')

    def test_bodies_are_read_by_their_type(self) -> None:
        self.assertEqual(self.ask("POST", "/v1/things", b'{"name":"b"}').status, 201)
        for method in ("PUT", "PATCH"):
            reply = self.ask(method, "/v1/things/b", b'{"name":"b"}')
            self.assertEqual(reply.status, 201)
        for body, code in (
            (b"{", "malformed-json"),
            (b'{"name":"b","name":"c"}', "malformed-json"),
            (b'{"size":1}', "invalid-message"),
            (b'{"name":"b","colour":"red"}', "invalid-message"),
        ):
            reply = self.ask("POST", "/v1/things", body)
            self.assertEqual((reply.status, json.loads(reply.body)["code"]), (400, code))

    def test_every_refusal_is_a_problem(self) -> None:
        """Status and advice are those of the table, from routes at once and awaited ones alike."""
        for code, row in REFUSALS.items():
            for method, target in (
                ("GET", "/v1/things/a"),
                ("POST", "/v1/things"),
                ("PATCH", "/v1/things/a"),
            ):
                reply = self.ask(method, target, b"{}", Rejected(code, "in this case"))
                self.assertEqual(reply.status, row.status)
                told = {"code": code, "detail": "in this case", "advice": row.advice}
                self.assertEqual(json.loads(reply.body), told)
                self.assertEqual(reply.reason, f"{code}: in this case")
        self.assertIn(b'"detail":"no such node', self.ask(
            "GET", "/v1/things/a", error=Rejected("unknown-node")
        ).body)  # fmt: skip

    def test_a_status_has_its_headers(self) -> None:
        """RFC 9110 sections 15.5.2 and 10.2.3: how to show who one is, and when to ask again."""
        self.assertIn(("WWW-Authenticate", "Bearer"), refused(Rejected("unauthorized")).headers)
        self.assertIn(("Retry-After", "5"), refused(Rejected("store-unavailable")).headers)
        self.assertIn(("Retry-After", "61"), refused(Rejected("locked-out"), 60.2).headers)
        self.assertNotIn("Retry-After", dict(refused(Rejected("stale")).headers))

    def test_errors_of_other_rooms_are_problems_too(self) -> None:
        for error, code, status in (
            (NotFound("no such thing"), "not-found", 404),
            (Unavailable("api: 9 pieces of work are waiting", 7), "over-capacity", 503),
            (RescriptumError("something"), "failed", 500),
        ):
            reply = problem(error)
            self.assertEqual((json.loads(reply.body)["code"], reply.status), (code, status))
            self.assertEqual(json.loads(reply.body)["detail"], str(error))
        self.assertIn(("Retry-After", "7"), problem(Unavailable("full", 7)).headers)

    def test_what_is_no_error_of_ours_is_the_listeners(self) -> None:
        reply = self.ask("GET", "/v1/things/a", error=KeyError("oops"))
        self.assertEqual((reply.status, reply.media_type[:10]), (500, "text/plain"))
        self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)

    def test_paths_that_lead_nowhere(self) -> None:
        reply = self.ask("GET", "/v1/nothing?token=x")
        self.assertEqual((reply.status, json.loads(reply.body)["code"]), (404, "unknown-path"))
        self.assertNotIn(b"token", reply.body)
        reply = self.ask("DELETE", "/v1/things")
        self.assertEqual((reply.status, json.loads(reply.body)["code"]), (405, "wrong-method"))
        self.assertIn(("Allow", "POST"), reply.headers)

    def test_a_detail_has_a_bound(self) -> None:
        """Whatever a message held that was refused."""
        self.assertEqual(
            len(json.loads(refused(Rejected("failed", "x" * 9999)).body)["detail"]), 2048
        )
