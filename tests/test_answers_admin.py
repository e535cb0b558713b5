"""Tests for ``rescriptum.answers.admin``: what an editor is told, over every store."""

import json
from collections.abc import Sequence
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogEvent, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.admin.resource import Admin
from rescriptum.answers.documents import Folder, Key, Kind, Listing, Place
from rescriptum.answers.store import AnswerStore
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.answers.stores.store import Store
from rescriptum.errors import Unavailable
from rescriptum.testing import MemoryWorkers
from rescriptum.values import Secret
from rescriptum.web.conditions import etag
from rescriptum.web.reply import Finished, Outcome
from rescriptum.web.request import Request
from rescriptum.web.routing import answer

from .webclient import PEER, Told, ask

TOKEN = "0123456789abcdef"
GROUP = b'# answer: member 52:54:00:00:00:01\nkey {{ machine | default("none") }}\n'


def machine_key(name: str, extension: str) -> Key:
    return Key(Place.checked(Kind.MACHINE, name), extension)


def ours(events: Sequence[LogEvent]) -> list[LogEvent]:
    """:returns: those that the admin listener records."""
    return [each for each in events if str(each.get("event")).startswith("admin.")]


class AdminCase(SynchronousTestCase):
    """Over a database; what comes of files is the same: see the end."""

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.now = 1000.0
        self.store = self.opened()
        self.changing = MemoryWorkers()
        live = AnswerStore(self.store, self.changing, Clock())
        self.telling = MemoryWorkers()
        self.admin = Admin(live, self.telling, Secret(TOKEN), lambda: self.now)

    def opened(self) -> Store:
        return SQLiteStore(self.path)

    def ask(self, target: str, method: str = "GET", body: bytes = b"", **headers: str) -> Told:
        given = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        given = (("authorization", f"Bearer {TOKEN}"), *given)
        return ask(self.admin, target, method=method, headers=given, body=body)

    def json(self, target: str, method: str = "GET", body: bytes = b"") -> object:
        """:returns: what a request that succeeds is told."""
        told = self.ask(target, method, body)
        self.assertEqual((told.status, told.header("Content-Type")), (200, "application/json"))
        return json.loads(told.body)

    def put(self, target: str, body: bytes) -> None:
        told = self.ask(target, "PUT", body)
        self.assertEqual(told.status, 200, told.body)

    def refusal(self, status: int, target: str, method: str = "GET", body: bytes = b"") -> str:
        """:returns: the error, of a request that gets this status."""
        told = self.ask(target, method, body)
        self.assertEqual((told.status, told.header("Content-Type")), (status, "application/json"))
        return str(json.loads(told.body)["error"])


class DocumentTests(AdminCase):
    def test_a_document_is_stored_read_and_removed(self) -> None:
        """Byte for byte, with its media type and a tag of its bytes."""
        for target, data in (
            ("/machines/52-54-00-00-00-01?format=cfg", b"# mine\r\nno final newline"),
            ("/groups/rack-4?format=preseed", GROUP),
            ("/default?format=ipxe", b"#!ipxe\nexit\n"),
            ("/machines/52-54-00-00-00-01?format=meta-data", b"instance-id: x\n"),
        ):
            told = self.ask(target, "PUT", data)
            self.assertEqual(told.status, 200, told.body)
            self.assertEqual(json.loads(told.body), {"status": "stored", "problems": []})
            self.assertEqual(told.header("ETag"), etag(data))
            read = self.ask(target)
            self.assertEqual((read.status, read.body), (200, data))
            self.assertEqual(read.header("ETag"), etag(data))
            self.assertEqual(self.json(target, "DELETE"), {"status": "deleted", "problems": []})
            self.assertIn("there is no ", self.refusal(404, target))
        self.assertEqual(self.store.keys(), [])

    def test_a_document_is_of_the_format_that_is_asked_for(self) -> None:
        """TOML where nothing is said; others of the same machine stay as they are."""
        self.put("/machines/m-000001", b"a = 1\n")
        self.put("/machines/m-000001?format=KS", b"text\n")
        self.assertEqual(self.ask("/machines/m-000001?format=toml").body, b"a = 1\n")
        told = self.ask("/machines/m-000001?format=ks")
        self.assertEqual(
            (told.body, told.header("Content-Type")), (b"text\n", "text/plain; charset=utf-8")
        )
        self.refusal(404, "/machines/m-000001?format=yaml")
        self.json("/machines/m-000001", "DELETE")
        self.assertEqual(self.ask("/machines/m-000001?format=ks").status, 200)

    def test_head_is_get_without_a_body(self) -> None:
        self.put("/default?format=ks", b"text\n")
        get, head = self.ask("/default?format=ks"), self.ask("/default?format=ks", "HEAD")
        self.assertEqual((head.status, head.headers, head.body), (200, get.headers, b""))

    def test_lists(self) -> None:
        """An identity comes once for each of its formats; of another kind never."""
        for target in (
            "/machines/b-000002?format=ks",
            "/machines/a-000001?format=ks",
            "/machines/a-000001?format=cfg",
            "/groups/rack?format=ks",
            "/default?format=ks",
        ):
            self.put(target, b"text\n")
        self.assertEqual(
            self.json("/machines"),
            {
                "machine": [
                    {"id": "a-000001", "format": "cfg", "bytes": 5},
                    {"id": "a-000001", "format": "ks", "bytes": 5},
                    {"id": "b-000002", "format": "ks", "bytes": 5},
                ]
            },
        )
        self.assertEqual(
            self.json("/groups"), {"group": [{"id": "rack", "format": "ks", "bytes": 5}]}
        )
        self.assertEqual(
            self.json("/defaults"), {"default": [{"id": "default", "format": "ks", "bytes": 5}]}
        )

    def test_what_is_no_document_is_refused(self) -> None:
        """Each says what would be right; nothing is stored."""
        for target, body, words in (
            ("/machines/..%2Fetc", b"x", "want letters, digits"),
            ("/machines/.hidden", b"x", "no dot first"),
            ("/machines/groups", b"x", "groups is no machine"),
            ("/machines/Default", b"x", "Default is no machine"),
            (f"/groups/{'a' * 201}", b"x", "want letters, digits"),
            ("/machines/caf%C3%A9", b"x", "want letters, digits"),
            ("/machines/m-000001?format=txt", b"x", "want a format out of toml, yaml,"),
            ("/machines/m-000001?format=", b"x", "want a format out of"),
            ("/machines/m-000001?fromat=ks", b"x", "want ?format=EXTENSION and no more"),
            ("/machines/m-000001?format=ks&format=cfg", b"x", "want one format"),
            ("/machines/m-000001?format=ks", b"", "want a document"),
            ("/machines/m-000001?format=ks", b" \r\n", "want a document"),
            ("/machines/m-000001?format=ks", b"caf\xe9", "want UTF-8"),
            ("/machines/m-000001?format=ks", b"{{ }}", "refused: m-000001/rhel.ks: "),
        ):
            with capturedLogs() as events:
                self.assertIn(words, self.refusal(400, target, "PUT", body))
            self.assertEqual([each["event"] for each in events], ["admin.refused"], target)
        self.assertEqual(self.store.keys(), [])

    def test_a_broken_document_names_its_problem(self) -> None:
        told = self.ask("/default?format=ks", "PUT", b"one\n{{ nothing\n")
        refused = json.loads(told.body)
        [problem] = refused["problems"]
        self.assertEqual(problem["source"], "default/rhel.ks")
        self.assertIn("line 2", problem["text"])
        self.assertEqual(
            refused["error"], f"refused: default/rhel.ks: {problem['text']} (nothing was changed)"
        )

    def test_a_directory_that_cannot_be_read(self) -> None:
        """Which documents are in it nobody knows: they are neither listed nor absent."""
        place = Place(Kind.MACHINE, "m-000001")
        self.patch(
            self.store,
            "listing",
            lambda: Listing({place: Folder(place, error="Permission denied")}),
        )
        self.assertEqual(self.json("/machines"), {"machine": []})
        error = self.refusal(409, "/machines/m-000001?format=ks")
        self.assertEqual(error, "m-000001: Permission denied")

    def test_paths_and_methods_that_are_none(self) -> None:
        self.assertEqual(self.refusal(404, "/nothing"), "no such path: /nothing")
        self.assertIn("no such path", self.refusal(404, "/machines/a/b"))
        self.assertIn("/machines does not take PUT", self.refusal(405, "/machines", "PUT", b"x"))
        self.assertEqual(
            self.ask("/default", "POST", b"x").header("Allow"), "DELETE, GET, HEAD, PUT"
        )


class ConditionTests(AdminCase):
    target = "/groups/rack?format=ks"

    def test_an_edit_of_what_has_changed_since_is_refused(self) -> None:
        """Of two editors that began with the same document the second is told."""
        self.put(self.target, b"one\n")
        tag = self.ask(self.target).header("ETag") or ""
        self.assertEqual(self.ask(self.target, "PUT", b"two\n", if_match=tag).status, 200)
        told = self.ask(self.target, "PUT", b"three\n", if_match=tag)
        self.assertEqual((told.status, told.header("Content-Type")), (412, "application/json"))
        self.assertEqual(self.ask(self.target, "DELETE", if_match=tag).status, 412)
        self.assertEqual(self.ask(self.target).body, b"two\n")

    def test_a_document_can_be_made_only_if_there_is_none(self) -> None:
        self.assertEqual(self.ask(self.target, "PUT", b"one\n", if_none_match="*").status, 200)
        self.assertEqual(self.ask(self.target, "PUT", b"two\n", if_none_match="*").status, 412)
        self.assertEqual(self.ask(self.target).body, b"one\n")

    def test_an_edit_of_what_is_gone_is_refused(self) -> None:
        for condition in (etag(b"one\n"), "*"):
            told = self.ask(self.target, "PUT", b"two\n", if_match=condition)
            self.assertEqual(told.status, 412)
            self.assertEqual(self.ask(self.target, "DELETE", if_match=condition).status, 412)
        self.put(self.target, b"one\n")
        self.assertEqual(self.ask(self.target, "PUT", b"two\n", if_match="*").status, 200)

    def test_reading_again_what_has_not_changed(self) -> None:
        self.put(self.target, b"one\n")
        told = self.ask(self.target, if_none_match=etag(b"one\n"))
        self.assertEqual((told.status, told.body), (304, b""))
        self.assertEqual(told.header("ETag"), etag(b"one\n"))
        self.assertEqual(self.ask(self.target, if_none_match=etag(b"two\n")).body, b"one\n")
        self.assertEqual(self.ask(self.target, if_match=etag(b"two\n")).status, 412)


class GuardTests(AdminCase):
    def held(self) -> dict[str, bytes]:
        keys = self.store.keys()
        return {str(key): self.store.get(key) for key in keys}

    def test_a_change_that_breaks_another_document_is_refused(self) -> None:
        """What stands on a group keeps it; the reply says what would have been wrong."""
        self.put("/groups/rack?format=ks", b"one\n")
        self.put("/machines/m-000001?format=ks", b"# answer: extends rack\ntwo\n")
        before = self.held()
        with capturedLogs() as events:
            told = self.ask("/groups/rack?format=ks", "DELETE")
        self.assertEqual(told.status, 409)
        refused = json.loads(told.body)
        self.assertEqual(
            refused["problems"],
            [{"source": "m-000001/rhel.ks", "text": "extends rack, which is no group"}],
        )
        self.assertEqual(
            refused["error"],
            "refused: m-000001/rhel.ks: extends rack, which is no group (nothing was changed)",
        )
        self.assertEqual(self.held(), before)
        self.assertEqual([each["event"] for each in events], ["admin.refused"])

    def test_a_change_that_breaks_itself_is_refused(self) -> None:
        """No group of that name, a circle, a second name for a machine."""
        self.put("/groups/a?format=ks", b"one\n")
        self.put("/groups/b?format=ks", b"# answer: extends a\n")
        self.put("/machines/52-54-00-00-00-01?format=ks", b"one\n")
        before = self.held()
        for target, data, words in (
            ("/groups/c?format=ks", b"# answer: extends nobody\n", "extends nobody"),
            ("/groups/a?format=ks", b"# answer: extends b\n", "goes round"),
            ("/default?format=cfg", b"# answer: extends a\n", "has no cfg document"),
            ("/machines/525400000001?format=ks", b"two\n", "names the same machine"),
        ):
            self.assertIn(words, self.refusal(409, target, "PUT", data), target)
            self.assertEqual(self.held(), before)

    def test_what_was_wrong_before_blocks_nothing(self) -> None:
        """It is told, and a change that mends it is made."""
        self.store.put(machine_key("m-000001", "ks"), b"# answer: extends rack\n")
        [problem] = self.problems("/check")
        self.assertEqual(self.problems("/default?format=cfg", "PUT", b"x"), [problem])
        self.assertEqual(self.problems("/groups/rack?format=ks", "PUT", b"x"), [])
        self.assertEqual(self.problems("/check"), [])

    def test_what_may_be_long_is_told_in_a_thread(self) -> None:
        """A set of a hundred thousand documents has as many entries, and perhaps problems."""
        headers = (("authorization", f"Bearer {TOKEN}"),)
        for target in ("/machines", "/check"):
            self.telling.held = True
            waiting = Deferred.fromCoroutine(
                answer(self.admin, Request("GET", target, PEER, headers))
            )
            self.assertNoResult(waiting)
            self.telling.proceed()
            self.assertEqual(getattr(self.successResultOf(waiting), "status", None), 200)

    def problems(self, target: str, method: str = "GET", body: bytes = b"") -> list[object]:
        told = self.json(target, method, body)
        assert isinstance(told, dict)
        return list(told["problems"])

    def test_a_write_that_fails_changes_nothing(self) -> None:
        """And says when to come again."""
        self.put("/default?format=ks", b"one\n")

        def full(key: object, data: bytes) -> None:
            raise Unavailable("answers.db: database or disk is full")

        self.patch(self.store, "put", full)
        told = self.ask("/default?format=ks", "PUT", b"two\n")
        self.assertEqual((told.status, told.header("Retry-After")), (503, "5"))
        self.assertIn("disk is full", json.loads(told.body)["error"])
        self.assertEqual(self.ask("/default?format=ks").body, b"one\n")

    def test_a_set_that_cannot_be_read_afterwards_has_been_changed_all_the_same(self) -> None:
        """The reply says both."""
        real, calls = self.store.listing, iter("ab")  # before the change, and within it

        def listing() -> Listing:
            if next(calls, None) is None:
                raise Unavailable("answers.db: database is locked")
            return real()

        patched = self.patch(self.store, "listing", listing)
        with capturedLogs() as events:
            told = self.json("/default?format=ks", "PUT", b"text\n")
        patched.restore()
        problem = {"source": "answers", "text": "answers.db: database is locked"}
        self.assertEqual(told, {"status": "stored", "problems": [problem]})
        self.assertEqual([each["event"] for each in ours(events)], ["admin.changed"])
        self.assertEqual(self.held(), {"default/rhel.ks": b"text\n"})

    def test_a_change_is_a_line(self) -> None:
        with capturedLogs() as events:
            self.put("/machines/m-000001?format=ks", b"text\n")
            self.json("/machines/m-000001?format=ks", "DELETE")
            self.ask("/machines/m-000001?format=ks", "DELETE")
            self.ask("/machines/m-000001?format=ks")
        self.assertEqual({each["peer"] for each in ours(events)}, {PEER})
        self.assertEqual(
            [formatEvent(each) for each in ours(events)],
            [
                "admin: stored m-000001/rhel.ks bytes=5",
                "admin: deleted m-000001/rhel.ks bytes=0",
                "admin: DELETE /machines/m-000001 404 there is no m-000001/rhel.ks",
            ],
        )

    def test_a_change_is_made_and_told_when_its_editor_has_left(self) -> None:
        """What a thread has begun cannot be taken back: at least the log knows."""
        self.changing.held = True
        headers = (("authorization", f"Bearer {TOKEN}"),)
        request = Request("PUT", "/default?format=ks", PEER, headers, b"text\n")
        waiting = Deferred.fromCoroutine(answer(self.admin, request))
        waiting.cancel()
        with capturedLogs() as events:
            self.changing.proceed()
        self.assertEqual(self.held(), {"default/rhel.ks": b"text\n"})
        self.assertEqual([each["event"] for each in ours(events)], ["admin.changed"])

    def test_our_own_mistake_is_logged_once(self) -> None:
        def broken(key: object, data: bytes) -> None:
            raise ZeroDivisionError

        self.patch(self.store, "put", broken)
        self.assertEqual(self.refusal(500, "/default?format=ks", "PUT", b"x"), "see the log")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)


class ResolveTests(AdminCase):
    def setUp(self) -> None:
        super().setUp()
        self.put("/groups/rack?format=ks", GROUP)
        self.put("/groups/net?format=cfg", b"# answer: match peer=192.0.2.0/24\nnet\n")

    def source(self, target: str) -> tuple[int, str | None, bytes]:
        told = self.ask(target)
        return told.status, told.header("X-Answer-Source"), told.body

    def test_what_a_machine_would_get(self) -> None:
        """Merged and filled, and whose it is, as the log says it."""
        self.assertEqual(
            self.source("/resolve/52:54:00:00:00:01"),
            (200, "format=text machine= group=rack", b"key none\n"),
        )
        self.put("/machines/52-54-00-00-00-01?format=ks", b"own\n")
        self.assertEqual(
            self.source("/resolve/525400000001"),
            (
                200,
                "format=text machine=52-54-00-00-00-01 group=rack",
                b"key 52-54-00-00-00-01\nown\n",
            ),
        )

    def test_a_path_says_the_format(self) -> None:
        """Of the identity, where nothing else is said."""
        self.put("/machines/52-54-00-00-00-01?format=cfg", b"cfg\n")
        for target, body in (
            ("/resolve/525400000001?path=/rhel/ks", b"key none\n"),
            ("/resolve/525400000001?path=cfg", b"cfg\n"),
        ):
            self.assertEqual(self.ask(target).body, body)

    def test_a_query_is_what_a_machine_would_send(self) -> None:
        """The identity of the path is then nobody's."""
        self.assertEqual(self.source("/resolve/x?mac=525400000001")[0], 200)
        self.assertEqual(self.source("/resolve/525400000001?mac=525400000002")[0], 404)
        self.assertEqual(self.source("/resolve/x?mac=525400000001&path=/cfg")[0], 404)
        self.assertEqual(self.ask("/resolve/x?path=/cfg&peer=192.0.2.9").body, b"net\n")

    def test_why_there_is_none(self) -> None:
        self.assertIn("there is no default", self.refusal(404, "/resolve/nobody"))
        self.put("/default?format=ks", b"{{ serial }}\n")
        error = self.refusal(409, "/resolve/nobody")
        self.assertIn("default/rhel.ks", error)
        self.assertIn("serial", error)
        self.store.put(machine_key("m-000001", "ks"), b"{{\n")
        self.assertIn("m-000001/rhel.ks: line 1", self.refusal(409, "/resolve/m-000001"))

    def test_head_tells_whose_it_is(self) -> None:
        told = self.ask("/resolve/525400000001", "HEAD")
        self.assertEqual((told.status, told.body), (200, b""))
        self.assertEqual(told.header("X-Answer-Source"), "format=text machine= group=rack")


class TokenTests(AdminCase):
    def bare(self, target: str, method: str = "GET", token: str | None = None) -> Told:
        headers = (("authorization", f"Bearer {token}"),) if token else ()
        return ask(self.admin, target, method=method, headers=headers, body=b"x")

    def test_without_it_every_path_is_the_same(self) -> None:
        """Those too that are none."""
        replies = set()
        for target in ("/machines", "/default?format=ks", "/nothing", "/resolve/x"):
            for method in ("GET", "PUT", "DELETE", "POST"):
                for token in (None, "x" * 16):
                    self.now += 1000  # so far that no failure is remembered
                    replies.add(self.bare(target, method, token))
        [told] = replies
        self.assertEqual((told.status, told.header("WWW-Authenticate")), (401, "Bearer"))
        self.assertEqual(json.loads(told.body), {"error": "Unauthorized"})
        self.assertEqual(self.store.keys(), [])

    def test_who_guesses_is_locked_out(self) -> None:
        """With the right token too, and without learning whether it was right."""
        with capturedLogs() as events:
            for _ in range(5):
                self.assertEqual(self.bare("/machines", token="wrong").status, 401)
            for token in ("wrong", TOKEN):
                told = self.bare("/default?format=ks", "PUT", token)
                self.assertEqual((told.status, told.header("Retry-After")), (429, "60"))
        self.assertEqual(self.store.keys(), [])
        self.assertEqual(
            [formatEvent(each) for each in events],
            [
                "admin: GET /machines 401 the token is wrong or missing",
                "admin: GET /machines 401 the token is wrong or missing: locked out for 60 s",
            ],
        )
        self.now += 60
        self.assertEqual(self.bare("/machines", token=TOKEN).status, 200)

    def test_no_token_is_ever_logged(self) -> None:
        with capturedLogs() as events:
            self.bare("/machines?token=0123456789abcdef", token="fedcba9876543210")
            self.bare(f"/machines/m-000001?token={TOKEN}", "PUT", TOKEN)
        self.assertEqual(len(events), 2)
        self.assertNotIn(TOKEN, repr(events))
        self.assertNotIn("fedcba9876543210", repr(events))


class ListenerTests(AdminCase):
    def finish(self, status: int, reason: str) -> list[LogEvent]:
        request = Request("PUT", "/default?format=ks", PEER)
        with capturedLogs() as events:
            self.admin.finished(
                Finished(request, PEER, status, 0, 0, 0.1, Outcome.SENT, None, reason)
            )
        return list(events)

    def test_what_the_listener_refuses_is_a_line_a_burst(self) -> None:
        """Nobody needs a token to send a body that is too large."""
        [event] = self.finish(413, "a body of more than 262144 bytes")
        self.assertEqual(
            formatEvent(event), "admin: PUT /default 413 a body of more than 262144 bytes"
        )
        self.assertEqual([self.finish(413, "the same") for _ in range(3)], [[]] * 3)
        self.now += 10
        [event] = self.finish(200, "")
        self.assertEqual(formatEvent(event), "Requests that no route saw: 3 more")

    def test_what_was_no_request_is_the_listeners_own(self) -> None:
        self.admin.finished(Finished(None, PEER, 400, 0, 0, 0.1, Outcome.SENT, None, "x"))
        self.admin.closed(PEER)
        self.assertEqual(self.finish(200, ""), [])


class FilesCase(AdminCase):
    def opened(self) -> Store:
        return AnswerDirectory(self.path, lambda: self.now)

    def write(self, name: str, data: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class DocumentFilesTests(FilesCase, DocumentTests):
    def test_a_file_keeps_its_name(self) -> None:
        """And what else lies beside it."""
        self.write("m-000001/mine.ks", b"one\n")
        self.write("m-000001/README", b"notes")
        self.put("/machines/m-000001?format=ks", b"two\n")
        self.assertEqual((self.path / "m-000001/mine.ks").read_bytes(), b"two\n")
        self.json("/machines/m-000001?format=ks", "DELETE")
        self.assertEqual([each.name for each in (self.path / "m-000001").iterdir()], ["README"])

    def test_of_two_files_none_is_removed(self) -> None:
        """The second would be served then, which nobody asked for."""
        self.write("m-000001/a.ks", b"one\n")
        self.write("m-000001/b.ks", b"two\n")
        error = self.refusal(409, "/machines/m-000001?format=ks", "DELETE")
        self.assertIn("(nothing was changed)", error)
        self.assertEqual(self.ask("/machines/m-000001?format=ks").body, b"one\n")

    def test_an_edit_by_hand_is_seen_at_once(self) -> None:
        """Its tag is another, so that no editor overwrites it unknowingly."""
        self.put("/default?format=ks", b"one\n")
        tag = self.ask("/default?format=ks").header("ETag") or ""
        self.write("default/rhel.ks", b"by hand\n")
        self.assertEqual(self.ask("/default?format=ks").body, b"by hand\n")
        told = self.ask("/default?format=ks", "PUT", b"two\n", if_match=tag)
        self.assertEqual(told.status, 412)


class ConditionFilesTests(FilesCase, ConditionTests):
    pass


class GuardFilesTests(FilesCase, GuardTests):
    pass


class ResolveFilesTests(FilesCase, ResolveTests):
    pass
