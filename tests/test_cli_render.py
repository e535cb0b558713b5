"""Tests for ``rescriptum.cli.render``, and for the example answers it is tried on first."""

import io
from pathlib import Path

from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.store import AnswerDirectory
from rescriptum.cli.render import RenderOptions
from rescriptum.config import read
from rescriptum.errors import MalformedDocument, NotFound, Refused, Unavailable, Unfillable

EXAMPLES = Path(__file__).parent.parent / "examples" / "answers"


def render(directory: Path, *arguments: str) -> tuple[int, bytes, str]:
    """:returns: exit code, standard output, standard error."""
    options = RenderOptions()
    options.parseOptions(list(arguments))
    config = read({"RESCRIPTUM_ANSWERS_DIR": str(directory)}).config()
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    code = options.perform(config, out, err)
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

    def test_usage(self) -> None:
        for arguments in ([], ["x", "-q", "a=b"], ["x", "-b", "f"], ["x", "y"], ["--nonsense"]):
            with self.assertRaises(UsageError):
                RenderOptions().parseOptions(arguments)


class ExampleTests(SynchronousTestCase):
    """``make run`` serves these."""

    def test_nothing_is_wrong_with_them(self) -> None:
        answers = AnswerDirectory(EXAMPLES, lambda: 0).read()
        self.assertEqual(answers.problems, ())

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

    def test_every_document_renders(self) -> None:
        """And keeps the promise that no placeholder is left, for any machine that is named."""
        answers = AnswerDirectory(EXAMPLES, lambda: 0).read()
        paths = {"ipxe": "/ipxe", "preseed": "/debian"}
        documents = [
            (name, extension)
            for name, kinds in (*answers.machines.items(), ("0a-00-00-00-00-01", answers.defaults))
            for extension in kinds
        ]
        self.assertEqual(len(documents), 3)
        for name, extension in documents:
            _, out, _ = render(EXAMPLES, "--query", f"mac={name}", "--path", paths[extension])
            self.assertNotIn(b"{{", out)

    def test_no_credentials_in_them(self) -> None:
        """What stands for a password is no hash of one."""
        text = (EXAMPLES / "52-54-00-12-34-56" / "debian.preseed").read_text()
        self.assertIn("user-password-crypted password !REPLACE-ME\n", text)
        self.assertNotIn("$6$", text)

    def test_an_address_alone_is_enough_for_them(self) -> None:
        _, out, _ = render(EXAMPLES, "52-54-00-12-34-56", "--path", "debian")
        self.assertIn(b"node-525400123456\n", out)
