"""Tests for ``rescriptum.web.routing``."""

from collections.abc import Awaitable

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.refusals import Rejected
from rescriptum.errors import (
    Forbidden,
    MalformedDocument,
    MalformedRequest,
    NotFound,
    RescriptumError,
    Unavailable,
    Unfillable,
    Unverified,
)
from rescriptum.web.reply import Finished, Reply
from rescriptum.web.request import Request
from rescriptum.web.routing import (
    STATUSES,
    Answer,
    Mounted,
    Pattern,
    Router,
    Routes,
    dispatch,
    refusal,
    status_of,
)

from .webclient import PEER, ask


class Base:
    def finished(self, done: Finished) -> None:
        pass

    def closed(self, peer: tuple[str, int]) -> None:
        pass


class Application(Base):
    routes = Routes()

    def __init__(self) -> None:
        self.error: Exception = NotFound("no image of that name")
        self.later: Deferred[Answer] = Deferred()

    @routes.get("")
    def root(self, request: Request) -> Reply:
        return Reply(b"root")

    @routes.get("<id>/iso")
    def image(self, request: Request, id: str) -> Reply:
        return Reply(f"image {id}".encode())

    @routes.get("<id>/file/<path...>")
    def file(self, request: Request, id: str, path: str) -> Reply:
        return Reply(f"{id}: {path}".encode("utf-8", "surrogateescape"))

    @routes.get("ipxe/iso")
    def literal(self, request: Request) -> Reply:
        return Reply(b"literal")

    @routes.post("ipxe/iso")
    async def posted(self, request: Request) -> Reply:
        return Reply(b"posted " + request.body)

    @routes.put("documents/<id>")
    def put(self, request: Request, id: str) -> Reply:
        return Reply(f"put {id}: ".encode() + request.body)

    @routes.patch("documents/<id>")
    def patch(self, request: Request, id: str) -> Reply:
        return Reply(f"patched {id}: ".encode() + request.body)

    @routes.delete("documents/<id>")
    def delete(self, request: Request, id: str) -> Reply:
        return Reply(f"deleted {id}".encode())

    @routes.get("fails")
    def fails(self, request: Request) -> Reply:
        raise self.error

    @routes.get("fails/later")
    async def fails_later(self, request: Request) -> Reply:
        raise self.error

    @routes.get("waits")
    def waits(self, request: Request) -> Awaitable[Answer]:
        return self.later


class CatchAll(Base):
    routes = Routes()

    @routes.get("<path...>")
    @routes.post("<path...>")
    def anything(self, request: Request, path: str) -> Reply:
        return Reply(path.encode())


class PatternTests(SynchronousTestCase):
    def test_a_rest_stands_at_the_end_only(self) -> None:
        self.assertRaises(ValueError, Pattern.parse, "<path...>/iso")

    def test_two_routes_for_one_path_are_a_mistake(self) -> None:
        """Captures of different names take the same paths."""
        routes = Routes()
        routes.get("<id>/iso")(lambda: Reply(b""))
        self.assertRaises(ValueError, routes.get("<name>/iso"), lambda: Reply(b""))


class RoutingTests(SynchronousTestCase):
    def test_captures_are_decoded_once(self) -> None:
        """A rest is joined by slashes; ``%25`` stays what it was encoded from."""
        told = ask(Application(), "/deb-12/file/pool/a%2525%20b.deb")
        self.assertEqual(told.body, b"deb-12: pool/a%25 b.deb")

    def test_bytes_that_are_no_text_survive(self) -> None:
        told = ask(Application(), "/x/file/%ff")
        self.assertEqual(told.body, b"x: \xff")

    def test_joined_urls_find_their_route(self) -> None:
        """Installers join with ``//`` and ``./``; ``..`` is left to who walks a tree."""
        self.assertEqual(ask(Application(), "//x/./iso").body, b"image x")
        self.assertEqual(ask(Application(), "/x/file/../y").body, b"x: ../y")
        self.assertEqual(ask(Application(), "///").body, b"root")

    def test_a_literal_beats_a_capture(self) -> None:
        self.assertEqual(ask(Application(), "/ipxe/iso").body, b"literal")

    def test_a_rest_may_be_empty(self) -> None:
        self.assertEqual(ask(Application(), "/x/file").body, b"x: ")
        self.assertEqual(ask(CatchAll(), "/").body, b"")

    def test_head_is_answered_as_get(self) -> None:
        """The same headers and no body (W150)."""
        head = ask(Application(), "/ipxe/iso", method="HEAD")
        get = ask(Application(), "/ipxe/iso")
        self.assertEqual((head.status, head.headers), (200, get.headers))
        self.assertEqual(head.body, b"")

    def test_a_method_that_the_path_does_not_take(self) -> None:
        told = ask(Application(), "/x/iso", method="POST")
        self.assertEqual(told.status, 405)
        self.assertEqual(told.header("Allow"), "GET, HEAD")
        self.assertEqual(
            ask(Application(), "/ipxe/iso", method="PUT").header("Allow"), "GET, HEAD, POST"
        )

    def test_a_method_that_changes_something_goes_to_its_own_route(self) -> None:
        told = ask(Application(), "/documents/x", method="PUT", body=b"y")
        self.assertEqual(told.body, b"put x: y")
        told = ask(Application(), "/documents/x", method="PATCH", body=b"y")
        self.assertEqual(told.body, b"patched x: y")
        self.assertEqual(ask(Application(), "/documents/x", method="DELETE").body, b"deleted x")
        told = ask(Application(), "/documents/x")
        self.assertEqual((told.status, told.header("Allow")), (405, "DELETE, PATCH, PUT"))

    def test_a_less_particular_route_takes_the_other_method(self) -> None:
        """What a literal path does not take, a capture of the same path may."""

        class Both(CatchAll):
            routes = Routes()
            routes.get("installed")(lambda self, request: Reply(b"get"))
            routes.post("<path...>")(CatchAll.anything)

        self.assertEqual(ask(Both(), "/installed", method="POST").body, b"installed")

    def test_a_path_that_is_not_there(self) -> None:
        told = ask(Application(), "/x/y/z", method="POST")
        self.assertEqual((told.status, told.body), (404, b"404 Not Found\n"))

    def test_an_awaited_reply(self) -> None:
        self.assertEqual(
            ask(Application(), "/ipxe/iso", method="POST", body=b"x").body, b"posted x"
        )


class RouterTests(SynchronousTestCase):
    def test_a_path_leads_to_the_same_route_again(self) -> None:
        """Whatever its query; another method of it is another route."""
        router = Router(Application())
        first = router.locate(Request("GET", "/x/iso?a", PEER))
        self.assertIs(router.locate(Request("GET", "/x/iso?b", PEER)), first)
        self.assertEqual(router.locate(Request("PUT", "/x/iso", PEER))[1], {"GET", "HEAD"})

    def test_what_is_remembered_is_bounded(self) -> None:
        """However many paths strangers ask for, and however long they are."""
        router = Router(CatchAll())
        for n in range(2000):
            router.locate(Request("GET", f"/{n}", PEER))
        self.assertLessEqual(len(router), 512)
        held = len(router)
        router.locate(Request("GET", "/" + "x" * 600, PEER))
        self.assertEqual(len(router), held)


class ErrorTests(SynchronousTestCase):
    def test_the_table_of_statuses(self) -> None:
        """An operator's mistake is ours to the client; what it sent itself is its own."""
        for error, status in (
            (NotFound(""), 404),
            (Forbidden(""), 403),
            (MalformedRequest(""), 400),
            (MalformedDocument(""), 500),
            (Unfillable(""), 500),
            (Unverified(""), 500),
            (Unavailable(""), 503),
            (RescriptumError(""), 500),
        ):
            self.assertEqual(status_of(error), status, type(error))
        self.assertLessEqual(set(STATUSES.values()), {400, 403, 404, 409, 412, 500, 503})

    def test_an_error_may_have_a_status_of_its_own(self) -> None:
        """Each refusal of the contract has one, whatever its class."""
        self.assertEqual(status_of(Rejected("unknown-session")), 401)
        application = Application()
        application.error = Rejected("stale-epoch", "epoch 3")
        self.assertEqual(ask(application, "/fails").body, b"409 Conflict\n")

    def test_what_is_no_status_is_none(self) -> None:
        error = NotFound("x")
        error.status = "gone"  # type: ignore[attr-defined]
        self.assertEqual(status_of(error), 404)

    def test_the_client_gets_a_bare_sentence(self) -> None:
        """The reason is for the access log alone; now or later is the same."""
        for target in ("/fails", "/fails/later"):
            told = ask(Application(), target)
            self.assertEqual((told.status, told.body), (404, b"404 Not Found\n"))
        self.assertEqual(refusal(NotFound("no image")).reason, "no image")

    def test_unavailable_says_when_to_come_again(self) -> None:
        """iPXE waits that long and asks again by itself (W166)."""
        application = Application()
        application.error = Unavailable("busy", retry_after=7)
        self.assertEqual(ask(application, "/fails").header("Retry-After"), "7")

    def test_our_bug_is_logged_once_and_bare(self) -> None:
        for target in ("/fails", "/fails/later"):
            application = Application()
            application.error = KeyError("secret")
            told = ask(application, target)
            self.assertEqual((told.status, told.body), (500, b"500 Internal Server Error\n"))
            self.assertEqual(len(self.flushLoggedErrors(KeyError)), 1)

    def test_cancelling_reaches_the_route(self) -> None:
        cancelled: list[object] = []
        application = Application()
        application.later = Deferred(cancelled.append)
        request = Request("GET", "/waits", PEER)
        waiting = dispatch(application, request)
        assert isinstance(waiting, Deferred)
        waiting.cancel()
        self.assertEqual(cancelled, [application.later])
        reply = self.successResultOf(waiting)
        assert isinstance(reply, Reply)
        self.assertEqual(reply.status, 503)


class MountedTests(SynchronousTestCase):
    def test_applications_share_a_listener_by_first_segment(self) -> None:
        """Each is given the whole path."""
        mounted = Mounted(Application(), {"boot": CatchAll()})
        self.assertEqual(ask(mounted, "/boot/x.efi").body, b"boot/x.efi")
        self.assertEqual(ask(mounted, "/x/iso").body, b"image x")
        self.assertEqual(ask(mounted, "/").body, b"root")
