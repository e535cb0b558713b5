"""Tests for ``rescriptum.cli.render``, and for the example answers it is tried on first."""

import io
import json
from pathlib import Path

from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.documents import Key, Kind, Place
from rescriptum.answers.stores.sqlite import SQLiteStore
from rescriptum.cli.render import RenderOptions
from rescriptum.cli.requests import MAX_BODY
from rescriptum.config import read
from rescriptum.errors import MalformedDocument, NotFound, Refused, Unavailable, Unfillable

EXAMPLES = Path(__file__).parent.parent / "examples" / "answers"


def render(directory: Path, *arguments: str, **settings: str) -> tuple[int, bytes, str]:
    """:returns: exit code, standard output, standard error."""
    options = RenderOptions()
    options.parseOptions(list(arguments))
    environ = {f"RESCRIPTUM_{name.upper()}": text for name, text in settings.items()}
    config = read({"RESCRIPTUM_ANSWERS_DIR": str(directory), **environ}).config()
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    code = options.perform(config, out, err)
    out.flush()
    buffer = out.buffer
    assert isinstance(buffer, io.BytesIO)
    return code, buffer.getvalue(), err.getvalue()


class RenderTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.write("52-54-00-00-00-01/x.ks", b"\xffraw")
        self.write("52-54-00-00-00-01/x.ipxe", b"{{ serial }} {{ machine }}")
        self.write("default/x.preseed", b"d")

    def write(self, name: str, data: bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def test_the_document_alone_is_on_standard_output(self) -> None:
        """Byte for byte, whatever the terminal's encoding; what it is goes to the other stream."""
        self.assertEqual(
            render(self.path, "52:54:00:00:00:01"),
            (0, b"\xffraw", "# format=text machine=52-54-00-00-00-01 group=\n"),
        )

    def test_the_path_says_the_format(self) -> None:
        self.assertEqual(
            render(self.path, "525400000001", "--path", "/debian/x"),
            (0, b"d", "# format=text machine= group=default\n"),
        )

    def test_a_query_has_facts(self) -> None:
        query = "mac=52:54:00:00:00:01&serial=S%201"
        _, out, _ = render(self.path, "-q", query, "-p", "/ipxe/boot")
        self.assertEqual(out, b"S 1 52-54-00-00-00-01")

    def test_a_body_has_facts(self) -> None:
        body = self.write("body.bin", b'{"mac": "52:54:00:00:00:01", "serial": "S1"}')
        _, out, _ = render(self.path, "--body", str(body), "--path", "/ipxe/boot")
        self.assertEqual(out, b"S1 52-54-00-00-00-01")

    def test_problems_are_warnings(self) -> None:
        self.write("flat.ks", b"")
        code, _, err = render(self.path, "525400000001")
        self.assertEqual(code, 0)
        self.assertTrue(err.startswith("warning: flat.ks: not served"))

    def test_no_answer_is_an_error(self) -> None:
        """The command line exits with 1 on each of these, and prints no document."""
        self.write("52-54-00-00-00-01/x.toml", b"a =")
        for error, *arguments in (
            (NotFound, "nobody", "-p", "/ipxe/x"),
            (Unfillable, "525400000001", "-p", "/ipxe/x"),
            (MalformedDocument, "525400000001", "-p", "/pve"),
            (Refused, "--body", str(self.path / "none")),
        ):
            with self.assertRaises(error):
                render(self.path, *arguments)
        with self.assertRaises(Unavailable):
            render(self.path / "default" / "x.preseed", "x")

    def test_a_body_is_no_larger_than_the_server_takes(self) -> None:
        body = self.write("body.bin", b"52-54-00-00-00-01".ljust(MAX_BODY))
        self.assertEqual(render(self.path, "-b", str(body), "-p", "/ks")[1], b"\xffraw")
        body.write_bytes(b"x" * (MAX_BODY + 1))
        with self.assertRaises(Refused):
            render(self.path, "-b", str(body), "-p", "/ks")

    def test_a_capture_is_asked_again(self) -> None:
        """Path, query, body and peer, as they were."""
        self.write("groups/g/x.cfg", b"# answer: match peer=192.0.2.0/24 serial=S*\n{{ file }}\n")
        meta = self.write("c.meta", b"peer: 192.0.2.7:99\nrequest: POST /cfg/a?x=1\n")
        self.write("c.body", b'{"serial": "S1"}')
        _, out, err = render(self.path, "--capture", str(meta))
        self.assertEqual((out, err), (b"a\n", "# format=text machine= group=g\n"))

    def test_a_capture_that_is_none(self) -> None:
        """The file that is meant is named, and what would be right."""
        meta = self.write("c.meta", b"peer: 192.0.2.7:99\n")
        for path, said in (
            (self.path / "no.meta", "no.meta: No such file"),
            (meta, "c.body: No such file"),
            (self.path / "c.body", "c.body: want the .meta of a request that was kept"),
        ):
            with self.assertRaisesRegex(Refused, said):
                render(self.path, "--capture", str(path))
        body = self.write("c.body", b"{")
        with self.assertRaisesRegex(Refused, "c.meta: request: missing"):
            render(self.path, "--capture", str(meta))
        meta.write_bytes(b"peer: 192.0.2.7:99\nrequest: POST /\n")
        body.write_bytes(b"[" * 40 + b"]" * 40)
        with self.assertRaisesRegex(Refused, "c.meta: body nested deeper"):
            render(self.path, "--capture", str(meta))

    def test_where_it_comes_from(self) -> None:
        self.write("groups/g/x.cfg", b"# answer: match peer=192.0.2.0/24\n{{ peer }}\n")
        _, out, _ = render(self.path, "x", "-p", "/cfg", "--peer", "192.0.2.9")
        self.assertEqual(out, b"192.0.2.9\n")

    def test_the_database(self) -> None:
        database = self.path / "answers.db"
        store = SQLiteStore(database)
        store.put(Key(Place(Kind.MACHINE, "machine-1"), "ks"), b"from the database")
        _, out, _ = render(self.path, "machine-1", store="sqlite", db_path=str(database))
        self.assertEqual(out, b"from the database")

    def test_explain(self) -> None:
        """Who was considered, the layers, and each value; in words and as JSON."""
        self.write("groups/g/x.toml", b'members = ["machine-1"]\n[a]\nb = "{{ serial }}"\n')
        self.write("machine-1/x.toml", b"[a]\nc = 1\n")
        query = ("-q", "serial=S1&id=machine-1", "-p", "/pve")
        code, out, err = render(self.path, *query, "--explain")
        text = out.decode()
        self.assertEqual((code, err), (0, ""))
        self.assertIn("  won   group    groups/g/x.toml   its member machine-1 is named\n", text)
        self.assertIn("  1  groups/g/x.toml\n  2  machine-1/x.toml\n", text)
        self.assertRegex(text, r"  groups/g/x.toml   a.b = \W?S1")
        _, out, _ = render(self.path, *query, "--explain", "--json")
        found = json.loads(out)
        self.assertEqual(found["layers"], ["groups/g/x.toml", "machine-1/x.toml"])
        self.assertEqual({each["won"] for each in found["candidates"]}, {True})
        self.assertEqual(set(found["candidates"][0]), {"source", "role", "won", "why"})
        self.assertEqual([each["path"] for each in found["values"]], ["a.b", "a.c"])
        self.assertEqual(found["error"], "")

    def test_explaining_what_is_no_answer(self) -> None:
        """It is explained all the same, and the exit code says that there is none."""
        code, out, _ = render(self.path, "nobody", "-p", "/pve", "--explain")
        self.assertEqual(code, 1)
        self.assertIn("none: no document is in a format that was asked for", out.decode())
        self.assertIn("No answer: nothing claims it", out.decode())

    def test_usage(self) -> None:
        for arguments in (
            [],
            ["x", "-q", "a=b"],
            ["x", "-b", "f"],
            ["x", "y"],
            ["--nonsense"],
            ["x", "-c", "f"],
            ["-c", "f", "-p", "/x"],
            ["x", "--json"],
        ):
            with self.assertRaises(UsageError):
                RenderOptions().parseOptions(arguments)


class ExampleTests(SynchronousTestCase):
    """``make run`` serves these."""

    def test_the_machine_boots_the_installer(self) -> None:
        """By the address its iPXE sends; the installer is told a URL that says which it is."""
        query = "mac=52:54:00:12:34:56&uuid=&platform=efi"
        _, out, err = render(EXAMPLES, "--query", query, "--path", "/ipxe/boot")
        script = out.decode("ascii")
        self.assertTrue(script.startswith("#!ipxe\n"))
        self.assertIn("BOOTIF=01-52-54-00-12-34-56 ", script)
        self.assertIn(":8000/debian/52-54-00-12-34-56/preseed.cfg\n", script)
        self.assertIn("initrd=initrd ", script)
        self.assertEqual(err, "# format=text machine=52-54-00-12-34-56 group=\n")

    def test_the_installer_gets_its_answers(self) -> None:
        _, out, err = render(EXAMPLES, "--path", "/debian/52-54-00-12-34-56/preseed.cfg")
        self.assertIn(b"get_hostname string node-525400123456\n", out)
        self.assertIn("machine=52-54-00-12-34-56", err)

    def test_no_other_machine_boots_it(self) -> None:
        """It sees the menu; should it come to the installer, that is answered and not obeyed."""
        with self.assertRaises(NotFound):
            render(EXAMPLES, "--query", "mac=52:54:00:99:99:99", "--path", "/ipxe/boot")
        _, out, err = render(EXAMPLES, "--path", "/debian/52-54-00-99-99-99/preseed.cfg")
        self.assertIn(b"get_hostname string node-525400999999\n", out)
        self.assertNotIn(b"d-i partman", out)
        self.assertIn("group=default", err)

    def test_no_credentials_in_them(self) -> None:
        """What stands for a password is no hash of one."""
        text = (EXAMPLES / "52-54-00-12-34-56" / "debian.preseed").read_text()
        self.assertIn("user-password-crypted password !REPLACE-ME\n", text)
        self.assertNotIn("$6$", text)

    def test_an_address_alone_is_enough_for_them(self) -> None:
        _, out, _ = render(EXAMPLES, "52-54-00-12-34-56", "--path", "debian")
        self.assertIn(b"node-525400123456\n", out)
