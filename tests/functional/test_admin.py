"""The admin listener of the server as an operator starts it, over both stores."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from twisted.trial.unittest import SkipTest

from ..processes import Process, free_port
from ..webclient import RawClient, Told
from .test_serve import MAC, ServeCase

TOKEN = "0123456789abcdef"
MACHINE = MAC.replace(":", "-")
ANSWER = f"#!ipxe\necho {MAC}\n".encode()
BEARER = f"Authorization: Bearer {TOKEN}"
DOCS = Path(__file__).parent.parent.parent / "docs" / "admin.md"


class AdminCase(ServeCase):
    """Every test ends with a machine that is answered, and no mistake of ours in the log."""

    store = "files"

    def setUp(self) -> None:
        super().setUp()
        self.admin = free_port()
        self.environ |= {
            "RESCRIPTUM_STORE": self.store,
            "RESCRIPTUM_DB_PATH": str(self.here / "answers.db"),
            "RESCRIPTUM_ADMIN_ADDR": f"127.0.0.1:{self.admin}",
            "RESCRIPTUM_ADMIN_TOKEN": TOKEN,
        }
        self.start()
        self.put(f"/machines/{MACHINE}?format=ipxe", b"#!ipxe\necho {{ mac }}\n")

    def start(self) -> None:
        self.server = self.serve()
        self.server.wait_for("admin listens on")
        self.addCleanup(self.still_answers, self.server)

    def still_answers(self, server: Process) -> None:
        if server is not self.server:
            return  # a test has ended it, and started another
        self.assertEqual(self.answer(f"/ipxe/boot?mac={MAC}"), (200, ANSWER))
        self.assertNotIn("Traceback", self.server.text)
        self.assertNotIn(TOKEN, self.server.text)

    def answer(self, target: str) -> tuple[int, bytes]:
        """:returns: what a machine gets."""
        with RawClient(self.answers) as client:
            client.send(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            told = client.reply()
        return told.status, told.body

    def ask(
        self, method: str, target: str, *lines: str, body: bytes | None = None, token: str = BEARER
    ) -> Told:
        head = [f"{method} {target} HTTP/1.1", "Host: x", token, *lines]
        if body is not None:
            head.append(f"Content-Length: {len(body)}")
        with RawClient(self.admin) as client:
            client.send("\r\n".join((*filter(None, head), "", "")).encode() + (body or b""))
            return client.reply(method)

    def put(self, target: str, body: bytes) -> list[object]:
        """:returns: the problems that there are."""
        told = self.ask("PUT", target, body=body)
        self.assertEqual(told.status, 200, told.body)
        return list(json.loads(told.body)["problems"])


class AdminTests(AdminCase):
    def test_a_change_is_served_at_once(self) -> None:
        """Put, replaced and deleted: whoever asks next gets what is there now."""
        for at in range(3):
            data = f"round {at}\n".encode()
            self.assertEqual(self.put("/default?format=ks", data), [])
            told = self.ask("GET", "/default?format=ks")
            self.assertEqual((told.status, told.body), (200, data))
            self.assertEqual(self.answer("/ks"), (200, data))
        self.assertEqual(self.ask("DELETE", "/default?format=ks").status, 200)
        self.assertEqual(self.answer("/ks")[0], 404)
        self.assertEqual(self.ask("GET", "/default?format=ks").status, 404)
        for line in (
            r"admin: stored default/rhel.ks bytes=8",
            r"admin: deleted default/rhel.ks bytes=0",
        ):
            self.server.wait_for(line)

    def test_what_would_break_an_answer_is_not_stored(self) -> None:
        """A broken document, one that stands on nothing, a group that is stood on."""
        self.put("/groups/rack?format=ks", b"rack\n")
        self.put("/machines/m-000001?format=ks", b"# answer: extends rack\nown\n")
        for method, target, body, status in (
            ("PUT", "/groups/rack?format=ks", b"{{ broken\n", 400),
            ("PUT", "/groups/rack?format=ks", b"# answer: extends nobody\n", 409),
            ("PUT", "/groups/rack?format=ks", b"# answer: extends rack\n", 409),
            ("DELETE", "/groups/rack?format=ks", None, 409),
            ("PUT", "/groups/rack", b"not = = toml\n", 400),
            ("PUT", "/groups/rack?format=json", b"{", 400),
        ):
            told = self.ask(method, target, body=body)
            refused = json.loads(told.body)
            self.assertEqual(told.status, status, refused)
            self.assertIn("(nothing was changed)", refused["error"])
            self.assertTrue(refused["problems"])
            self.assertEqual(self.answer("/ks/m-000001"), (200, b"rack\nown\n"))
        self.assertEqual(json.loads(self.ask("GET", "/check").body), {"problems": []})

    def test_what_a_machine_would_get(self) -> None:
        """The very bytes that the answer listener sends, and whose they are."""
        self.put("/groups/rack?format=ipxe", f"# answer: member {MAC}\n# rack\n".encode())
        told = self.ask("GET", f"/resolve/x?mac={MAC}&path=/ipxe/boot")
        self.assertEqual((told.status, told.body), self.answer(f"/ipxe/boot?mac={MAC}"))
        source = f"format=text machine={MACHINE} group=rack"
        self.assertEqual(told.header("X-Answer-Source"), source)
        self.server.wait_for(re.escape(f"200 {source} bytes="))
        self.assertEqual(self.ask("DELETE", "/groups/rack?format=ipxe").status, 200)

    def test_two_editors(self) -> None:
        self.put("/default?format=ks", b"one\n")
        tag = self.ask("GET", "/default?format=ks").header("ETag")
        told = self.ask("PUT", "/default?format=ks", f"If-Match: {tag}", body=b"two\n")
        self.assertEqual((told.status, self.answer("/ks")), (200, (200, b"two\n")))
        told = self.ask("PUT", "/default?format=ks", f"If-Match: {tag}", body=b"three\n")
        self.assertEqual((told.status, self.answer("/ks")), (412, (200, b"two\n")))
        told = self.ask("PUT", "/default?format=ks", "If-None-Match: *", body=b"four\n")
        self.assertEqual(told.status, 412)

    def test_a_change_outlives_the_server(self) -> None:
        """And nothing is left beside the database that a copy of it would lack."""
        self.put("/machines/m-000001?format=ks", b"kept\n")
        self.assertEqual(self.server.end(), 0)
        self.assertEqual(list(self.here.glob("answers.db?*")), [])
        self.start()
        self.assertEqual(self.answer("/ks/m-000001"), (200, b"kept\n"))

    def test_head_health_and_methods(self) -> None:
        """Whether it is there anybody may ask; and the length of a list is known without it."""
        self.assertEqual(self.ask("GET", "/health", token="").body, b"OK\n")
        get, head = self.ask("GET", "/machines"), self.ask("HEAD", "/machines")
        self.assertEqual(head.header("Content-Length"), str(len(get.body)))
        self.assertEqual(self.ask("POST", "/machines", body=b"x").status, 405)
        self.assertEqual(self.ask("PATCH", "/machines", body=b"x").status, 405)
        with RawClient(self.admin) as client:  # one connection, as editors keep it
            for _ in range(3):
                client.send(f"GET /check HTTP/1.1\r\nHost: x\r\n{BEARER}\r\n\r\n".encode())
                self.assertEqual(client.reply().status, 200)


class AdminDatabaseTests(AdminTests):
    store = "sqlite"


class DocsTests(AdminCase):
    def test_the_lines_in_the_docs(self) -> None:
        """Each does what the page says it does, with the curl of this machine."""
        if shutil.which("curl") is None:
            raise SkipTest("no curl")
        (self.here / ".rescriptum").write_text(f"{BEARER}\n")
        (self.here / "rack-4.toml").write_text("a = 1\n")
        (self.here / "boot.ipxe").write_text("#!ipxe\necho {{ mac }}\n")
        self.put("/groups/rack-4", b"a = 1\n")
        self.put(f"/machines/{MACHINE}", b'extends = "rack-4"\n')
        self.put("/default?format=preseed", b"d-i x string y\n")
        page = DOCS.read_text().replace("\\\n", "")
        commands = re.findall(r"^\$ (curl .*)$", page, re.M)
        [refusal] = re.findall(r'"error": "(.*)"', page)
        said = ""
        for command in commands:
            if "If-Match" in command:  # what the line before it has shown
                [tag] = re.findall(r'ETag: (".*")', said)
                command = re.sub(r'".*"', tag, command)
            said = self.said(command)
            if "DELETE" in command and "ipxe" in command:
                self.put(f"/machines/{MACHINE}?format=ipxe", b"#!ipxe\necho {{ mac }}\n")
            if "error" in said:
                self.assertEqual((json.loads(said)["error"], command[-6:]), (refusal, "rack-4"))
                refusal = ""
        self.assertEqual((len(commands), refusal), (9, ""))

    def said(self, command: str) -> str:
        """:returns: what a line prints in a shell."""
        run = subprocess.run(
            ["sh", "-c", command.replace("8002", str(self.admin)).replace("curl", "curl -sS", 1)],
            cwd=self.here,
            env={"HOME": str(self.here), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((run.returncode, run.stderr), (0, ""), command)
        self.assertTrue(run.stdout, command)
        return run.stdout


class AbuseTests(AdminCase):
    def test_who_has_no_token_learns_nothing(self) -> None:
        for token in ("", "Authorization: Basic x", "Authorization: Bearer fedcba9876543210"):
            told = self.ask("PUT", "/default?format=ks", body=b"mine\n", token=token)
            self.assertEqual((told.status, told.header("WWW-Authenticate")), (401, "Bearer"))
            self.assertEqual(json.loads(told.body), {"error": "Unauthorized"})
        self.assertEqual(self.answer("/ks")[0], 404)
        self.assertEqual(self.ask("GET", "/machines").status, 200)

    def test_who_guesses_is_locked_out(self) -> None:
        """The right token does not help; machines are answered all the while."""
        wrong = "Authorization: Bearer fedcba9876543210"
        for _ in range(5):
            self.assertEqual(self.ask("GET", "/machines", token=wrong).status, 401)
        told = self.ask("PUT", "/default?format=ks", body=b"mine\n")
        self.assertEqual(told.status, 429)
        self.assertLessEqual(int(told.header("Retry-After") or ""), 60)
        self.assertEqual(self.ask("GET", "/health", token="").status, 200)
        self.assertEqual(self.answer("/ks")[0], 404)
        self.assertEqual(len(re.findall(r"admin: .* 401 ", self.server.text)), 2)
        self.assertNotIn("fedcba9876543210", self.server.text)

    def test_too_large_a_document_is_refused_from_the_header(self) -> None:
        """Before a byte of it has come, with the token or without; just 256 KiB are stored."""
        for token in (BEARER, ""):
            told = self.ask(
                "PUT", "/default?format=ks", f"Content-Length: {(256 << 10) + 1}", token=token
            )
            self.assertEqual(told.status, 413)
        whole = b"x" * ((256 << 10) - 1) + b"\n"
        self.assertEqual(self.put("/default?format=ks", whole), [])
        self.assertEqual(self.answer("/ks"), (200, whole))

    def test_who_sends_it_all_the_same_is_told(self) -> None:
        """What is not wanted is read for a moment: else the reply would be lost with it."""
        data = b"x" * (2 << 20)
        told = self.ask("PUT", "/default?format=ks", body=data)
        self.assertEqual(told.status, 413)
        told = self.ask("PUT", "/default?format=ks", body=data[: 256 << 10], token="")
        self.assertEqual(told.status, 401)

    def test_chunks_count_too(self) -> None:
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        head = f"PUT /default?format=ks HTTP/1.1\r\nHost: x\r\n{BEARER}\r\n"
        for chunks, status in ((4, 200), (5, 413)):
            with RawClient(self.admin) as client:
                client.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
                client.send(chunk * chunks + b"0\r\n\r\n")
                self.assertEqual(client.reply().status, status)

    def test_names_that_would_leave_the_directory(self) -> None:
        before = sorted(each.name for each in self.here.rglob("*"))
        for name in ("..", "..%2F..%2Fetc", "%2e%2e", "a%00b", "a%2Fb", ".ssh", "groups", "~"):
            told = self.ask("PUT", f"/machines/{name}?format=ks", body=b"x\n")
            self.assertIn(told.status, (400, 404), name)
        self.assertEqual(sorted(each.name for each in self.here.rglob("*")), before)

    def test_bodies_that_are_no_documents(self) -> None:
        for body in (b"", b" \n", b"\xff\xfe", b"{{", b"caf\xe9\n"):
            told = self.ask("PUT", "/default?format=ks", body=body)
            self.assertEqual(told.status, 400, body)
        self.assertEqual(self.answer("/ks")[0], 404)

    def test_a_client_that_leaves_in_the_middle(self) -> None:
        """Half a document is none."""
        with RawClient(self.admin) as client:
            client.send(f"PUT /default?format=ks HTTP/1.1\r\nHost: x\r\n{BEARER}\r\n".encode())
            client.send(b"Content-Length: 100\r\n\r\nhalf")
        self.assertEqual(self.answer("/ks")[0], 404)
