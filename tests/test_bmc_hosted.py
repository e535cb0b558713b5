"""Tests for ``rescriptum.bmc.hosted``: manifests, the exchange and what logs are told."""

import contextlib
import json
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.hosted.exchange import LONGEST_RESULT, data, request
from rescriptum.bmc.hosted.manifest import Manifest
from rescriptum.bmc.hosted.masking import LINE, LINES, Lines, Mask
from rescriptum.bmc.hosted.store import MOST, check, read
from rescriptum.contract.bmc import OPERATIONS, BmcRefusal, RotateCredential, UpdateFirmware
from rescriptum.contract.structure import JSON
from rescriptum.errors import Malformed, Refused
from rescriptum.values import Secret

GOOD: JSON = {"id": "acme", "version": "1.2", "concerns": ["power", "boot"], "protocol": 1}
PASSWORD = "p@ss w0rd/é"


class ManifestTests(SynchronousTestCase):
    def wrong(self, **said: object) -> str:
        with self.assertRaises(Malformed) as raised:
            Manifest.parse(json.dumps({**GOOD, **said}).encode())
        return str(raised.exception)

    def test_a_good_one(self) -> None:
        """It says what the driver can be asked, and goes into Hello as it is."""
        made = Manifest.parse(json.dumps(GOOD).encode())
        self.assertTrue(made.does(OPERATIONS["power.setPower"]))
        self.assertFalse(made.does(OPERATIONS["media.eject"]))
        self.assertEqual(json.loads(json.dumps(made.plain())), GOOD)

    def test_what_is_wrong_with_others(self) -> None:
        """Each names its field, and what would be right."""
        self.assertIn("built-in", self.wrong(id="redfish"))
        self.assertIn("id: want", self.wrong(id="Acme!"))
        self.assertIn("unknown: 'colour'", self.wrong(colour="red"))
        self.assertIn("'sound' is none of boot, firmware", self.wrong(concerns=["sound"]))
        self.assertIn("at least one", self.wrong(concerns=[]))
        self.assertIn("each once", self.wrong(concerns=["boot", "boot"]))
        self.assertIn("this agent speaks 1", self.wrong(protocol=2))
        self.assertIn("version", self.wrong(version="1\n2"))
        self.assertIn("protocol", self.wrong(protocol="1"))
        with self.assertRaises(Malformed) as raised:
            Manifest.parse(b'{"id": "acme"}')
        self.assertIn("missing", str(raised.exception))

    @given(st.binary())
    def test_whatever_it_holds(self, junk: bytes) -> None:
        """A manifest, or Malformed; nothing else is raised."""
        with contextlib.suppress(Malformed):
            Manifest.parse(junk)


class DirectoryTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(os.path.abspath(self.mktemp()))
        self.here.mkdir(mode=0o755)

    def put(self, name: str = "acme", program: str | None = "#!/bin/sh\n", **said: object) -> Path:
        path = self.here / name
        (self.here / f"{name}.json").write_text(json.dumps({**GOOD, **said}))
        (self.here / f"{name}.json").chmod(0o644)
        if program is not None:
            path.write_text(program)
            path.chmod(0o755)
        return path

    def problem(self) -> str:
        found = read(self.here)
        self.assertEqual(len(found.problems), 1, found)
        return str(found.problems[0])

    def test_a_driver(self) -> None:
        """A program with its manifest; files that are neither are nobody's business."""
        path = self.put()
        (self.here / "README").write_text("hello")
        found = read(self.here)
        self.assertEqual(found.problems, ())
        self.assertEqual(found.drivers["acme"].path, path)
        check(found.drivers["acme"])

    def test_others_could_have_written_it(self) -> None:
        """The program, its manifest and the directory: none of them is taken then."""
        path = self.put()
        path.chmod(0o775)
        self.assertIn(
            f"program can be written by others (mode 0775): chmod go-w {path}", self.problem()
        )
        path.chmod(0o755)
        (self.here / "acme.json").chmod(0o666)
        self.assertIn("manifest can be written by others", self.problem())
        (self.here / "acme.json").chmod(0o644)
        self.here.chmod(0o777)
        self.assertIn("directory can be written by others", self.problem())

    def test_programs_that_are_none(self) -> None:
        """Missing, not executable, a directory, and one without a manifest: one line each."""
        path = self.put(program=None)
        self.assertIn("there is no program acme beside it", self.problem())
        path.write_text("")
        path.chmod(0o644)
        self.assertIn(f"not executable: chmod +x {path}", self.problem())
        path.unlink()
        path.mkdir(mode=0o755)
        self.assertIn("not a file", self.problem())
        path.rmdir()
        (self.here / "acme.json").rename(self.here / "other.txt")
        path.write_text("")
        path.chmod(0o755)
        self.assertIn("acme.json says what it is", self.problem())

    def test_two_of_one_id(self) -> None:
        """The second is refused, and says which has it; so is one called redfish."""
        self.put("a")
        self.put("b")
        self.assertIn("acme is the id of a, too", self.problem())
        self.put("b", id="redfish")
        self.assertIn("b.json: id: redfish is the built-in driver", self.problem())

    def test_as_many_as_a_hello_carries(self) -> None:
        """One more is a problem, and the others are there."""
        for number in range(MOST + 1):
            self.put(f"d{number:02}", id=f"d{number:02}")
        self.assertIn(f"{MOST} drivers", self.problem())
        self.assertEqual(len(read(self.here).drivers), MOST)

    def test_no_directory(self) -> None:
        """A problem, and no driver."""
        found = read(self.here / "none")
        self.assertEqual(dict(found.drivers), {})
        self.assertIn("No such file", str(found.problems[0]))

    def test_what_changes_before_it_is_run(self) -> None:
        """A program is looked at again: it may be gone, or another's by now."""
        path = self.put()
        program = read(self.here).drivers["acme"]
        path.chmod(0o777)
        self.assertRaises(Refused, check, program)
        path.unlink()
        self.assertRaises(Refused, check, program)


class ExchangeTests(SynchronousTestCase):
    def test_a_rotation(self) -> None:
        """The new password is a secret beside the old one; args name its reference alone."""
        asked = Asked(
            OPERATIONS["management.rotateCredential"],
            RotateCredential("bmc-new"),
            Credential("root", Secret("old")),
            Credential("root", Secret("new")),
        )
        told = json.loads(request(asked, "b", "", {}))
        self.assertEqual(told["args"], {"newCredentialRef": "bmc-new"})
        self.assertEqual(
            told["secrets"],
            {"username": "root", "password": "old", "new_username": "root", "new_password": "new"},
        )

    def test_firmware_comes_from_here(self) -> None:
        """The driver is given what was verified, and never the image's source."""
        args = UpdateFirmware("0" * 64, "https://vendor/image")
        asked = Asked(OPERATIONS["firmware.update"], args, image_url="http://here/cache/f/g/0")
        told = request(asked, "b", "", {})
        self.assertEqual(json.loads(told)["args"]["url"], "http://here/cache/f/g/0")
        self.assertNotIn(b"vendor", told)

    def code(self, stdout: bytes) -> str:
        with self.assertRaises(BmcRefusal) as raised:
            data(stdout, Mask([]))
        return str(raised.exception.code)

    def test_results(self) -> None:
        """Data, a code of the driver's own, or bad-response for what is no result."""
        self.assertEqual(
            data(b'{"ok": true, "data": {"power": "on"}}\n', Mask([])), {"power": "on"}
        )
        self.assertEqual(self.code(b'{"ok": false, "code": "pin-unsupported"}'), "pin-unsupported")
        self.assertEqual(self.code(b'{"ok": false}'), "failed")
        for junk in (
            b'{"ok": true, "code": "failed"}',
            b'{"ok": false, "code": "ok"}',
            b'{"ok": false, "code": "Not a code"}',
            b'{"ok": 1}',
            b'{"ok": true, "more": 1}',
            b"[]",
        ):
            self.assertEqual(self.code(junk), "bad-response", junk)

    def test_the_bound(self) -> None:
        """A mebibyte is read, and one byte more is not."""
        head, tail = b'{"ok": true, "data": {"x": "', b'"}}'
        room = LONGEST_RESULT - len(head) - len(tail)
        self.assertEqual(len(str(data(head + b"y" * room + tail, Mask([]))["x"])), room)
        self.assertEqual(self.code(head + b"y" * (room + 1) + tail), "bad-response")

    @given(st.binary())
    def test_whatever_it_says(self, junk: bytes) -> None:
        """Data, or BmcRefusal; nothing else is raised."""
        with contextlib.suppress(BmcRefusal):
            data(junk, Mask([Secret("x")]))

    def test_a_result_that_tells(self) -> None:
        """Secrets are masked in data and details alike."""
        masked = Mask([Secret(PASSWORD)])
        said = json.dumps({"ok": False, "code": "x", "detail": f"no {PASSWORD}"})
        with self.assertRaises(BmcRefusal) as raised:
            data(said.encode(), masked)
        self.assertEqual(raised.exception.detail, "no ***")
        told = json.dumps({"ok": True, "data": {PASSWORD: [PASSWORD, 1, {"a": PASSWORD}]}})
        self.assertEqual(data(told.encode(), masked), {"***": ["***", 1, {"a": "***"}]})


class LinesTests(SynchronousTestCase):
    def lines(self, text: str, secret: str = PASSWORD) -> list[str]:
        lines = Lines(Mask([Secret(secret)]))
        return [*lines.feed(text.encode()), *lines.end()]

    def test_every_spelling(self) -> None:
        """As it is, quoted in URLs and JSON, in base64 and hex."""
        for spelled in (
            PASSWORD,
            "p%40ss%20w0rd%2F%C3%A9",
            "p%40ss+w0rd%2F%C3%A9",
            json.dumps(PASSWORD),
            "cEBzcyB3MHJkL8OpIA",
            PASSWORD.encode().hex(),
        ):
            [line] = self.lines(f"<{spelled}>")
            self.assertIn("***", line, spelled)
            self.assertNotIn("w0rd", line)

    def test_a_secret_at_the_cut(self) -> None:
        """Wherever a long line is cut, no part of a secret is left."""
        secret = "S3CR3T" * 20
        for before in range(LINE - len(secret) - 5, 4 * (LINE + 120 * 6) + 5, 7):
            [line] = self.lines("." * before + secret + "." * 5000, secret)
            self.assertNotIn("S3", line)
            self.assertLessEqual(len(line), LINE + 1)

    def test_what_terminals_would_take_for_more(self) -> None:
        """One line stays one line."""
        self.assertEqual(self.lines("a\x1b[2Jb\r\n"), ["a\\x1b[2Jb"])

    def test_the_bounds(self) -> None:
        """So many lines, and the rest is a number."""
        lines = Lines(Mask([]))
        told = lines.feed(b"x\n" * (LINES + 3))
        self.assertEqual((len(told), lines.dropped), (LINES, 3))

    @given(st.lists(st.binary(max_size=40)), st.text(min_size=1, max_size=8))
    def test_in_whatever_pieces(self, pieces: list[bytes], secret: str) -> None:
        """The lines are the same, however they come."""
        whole, parts = Lines(Mask([Secret(secret)])), Lines(Mask([Secret(secret)]))
        joined = [*whole.feed(b"".join(pieces)), *whole.end()]
        told = [line for each in pieces for line in parts.feed(each)]
        self.assertEqual([*told, *parts.end()], joined)
