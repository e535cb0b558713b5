"""Tests for ``rescriptum.cli.gateway``: machines, images, secrets, operators, trust."""

import json
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.keys import dumped, generate, public_jwk
from rescriptum.contract.reports import Discovered
from rescriptum.gateway.stores import discovered, secrets
from tests.gateway_stores import NOW, settle
from tests.gatewaycommands import CommandCase

MAC = "bc:24:11:a1:b2:07"
SHA = "0123456789ABCDEF" * 4


class MachineTests(CommandCase, SynchronousTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.do(lambda connection: settle(connection, "ber"))

    def test_adding_one(self) -> None:
        self.run_("machine", "add", "m1", "ber", "--mac", MAC, "--bmc-address", "10.0.0.7")
        shown = self.said("machine", "show", "m1")
        self.assertEqual((shown["macs"], shown["bmc_address"]), ([MAC], "10.0.0.7"))
        self.assertIn(MAC, self.run_("machine", "list", "--site", "ber"))

    def test_changing_one(self) -> None:
        """What is not named stays; what somebody else has changed meanwhile is not overwritten."""
        self.run_("machine", "add", "m1", "ber", "--mac", MAC)
        told = self.run_("machine", "set", "m1", "--bmc-username", "root", "--bmc-address", "b")
        self.assertEqual(told, "m1 is at revision 2\n")
        self.assertEqual(self.said("machine", "show", "m1")["macs"], [MAC])
        self.assertEqual(self.requests[-2].header("if-match"), '"1"')
        self.run_("machine", "set", "m1", "--bmc-address", "")
        self.assertNotIn("bmc_address", self.said("machine", "show", "m1"))

    def test_addresses_for_requests(self) -> None:
        """As often as there are such; an empty one takes all of them back."""
        self.run_("machine", "add", "m1", "ber", "--address", "10.0.0.2", "--address", "a.lab")
        self.assertEqual(self.said("machine", "show", "m1")["addresses"], ["10.0.0.2", "a.lab"])
        self.run_("machine", "set", "m1", "--bmc-username", "root")
        self.assertEqual(self.said("machine", "show", "m1")["addresses"], ["10.0.0.2", "a.lab"])
        self.run_("machine", "set", "m1", "--address", "fc00::1")
        self.assertEqual(self.said("machine", "show", "m1")["addresses"], ["fc00::1"])
        self.run_("machine", "set", "m1", "--address", "")
        self.assertEqual(self.said("machine", "show", "m1")["addresses"], [])
        self.assertIn("invalid-message", self.wrong("machine", "set", "m1", "--address", "a b"))

    def test_removing_one(self) -> None:
        self.run_("machine", "add", "m1", "ber")
        self.run_("machine", "remove", "m1")
        self.assertIn("not-found", self.wrong("machine", "show", "m1"))

    def test_adopting_one(self) -> None:
        seen = [Discovered(MAC, "u-7", "x86_64")]
        self.do(lambda connection: settle(connection, "muc"))
        self.do(lambda connection: discovered.report(connection, "muc", seen, NOW))
        self.assertIn(MAC, self.run_("discovered", "list"))
        self.assertEqual(self.said("discovered", "list", "ber")["discovered"], [])
        told = self.run_("adopt", "muc", MAC, "m7", "--bmc-address", "10.0.0.7")
        self.assertEqual(told, f"added m7: {MAC}\n")
        self.assertEqual(self.said("machine", "show", "m7")["uuid"], "u-7")
        self.assertEqual(self.said("discovered", "list")["discovered"], [])


class ImageTests(CommandCase, SynchronousTestCase):
    def test_which_sites_have_it(self) -> None:
        for site in "ber", "muc":
            self.run_("site", "create", site)
        url = "https://images.example/a.raw"
        self.run_("image", "add", "alma", url, SHA, "--format", "zstd", "--site", "ber")
        [row] = self.said("image", "list")["images"]
        self.assertEqual((row["sites"], row["format"]), (["ber"], "zstd"))
        self.assertEqual(self.run_("image", "assign", "alma", "muc"), "alma: ber, muc\n")
        self.run_("image", "assign", "alma", "muc", "--not")
        self.assertIn("in-use", self.wrong("image", "remove", "alma"))
        self.assertEqual(self.run_("image", "assign", "alma", "ber", "--not"), "alma: no site\n")
        self.run_("image", "remove", "alma")


class SecretTests(CommandCase, SynchronousTestCase):
    def file(self, data: bytes) -> str:
        path = Path(self.mktemp())
        path.write_bytes(data)
        return str(path)

    def test_from_a_file(self) -> None:
        """Without the newline that an editor puts at its end, and without any other change."""
        for data, kept in (b"hunter2\n", b"hunter2"), (b" a\nb\n\n", b" a\nb\n"), (b"x\r\n", b"x"):
            told = self.run_("secret", "set", "bmc", "--file", self.file(data))
            self.assertEqual(told, "set bmc\n")
            sealed = self.do(lambda connection: secrets.get(connection, "bmc"))
            self.assertEqual(sealed, b"sealed bmc " + bytes(reversed(kept)))

    def test_what_is_none(self) -> None:
        """And nothing of it is said."""
        for data in b"", b"\n", b"\xffhunter2", b"hunter2" * 10_000:
            told = self.misused("secret", "set", "bmc", "--file", self.file(data))
            self.assertNotIn("hunter2", told)
        self.assertIn("No such file", self.misused("secret", "set", "bmc", "--file", "/nowhere"))

    def test_never_an_argument(self) -> None:
        self.assertIn("one thing too many", self.misused("secret", "set", "bmc", "hunter2"))

    def test_listing_and_forgetting(self) -> None:
        self.run_("secret", "set", "bmc", "--file", self.file(b"hunter2"))
        self.assertIn("bmc", self.run_("secret", "list"))
        self.run_("secret", "remove", "bmc")
        self.assertEqual(self.said("secret", "list")["secrets"], [])


class OperatorTests(CommandCase, SynchronousTestCase):
    def test_a_token_is_printed_once(self) -> None:
        token = self.run_("operator", "create", "ann", "--scope", "operate").strip()
        self.assertNotIn(token, self.run_("operator", "list"))
        self.gateway = self.reached(token)
        self.run_("site", "create", "ber")
        self.assertIn("forbidden", self.wrong("operator", "remove", "admin"))

    def test_taking_one_away(self) -> None:
        self.run_("operator", "remove", "read")
        self.assertNotIn("read", self.run_("operator", "list"))

    def test_a_scope_that_is_none(self) -> None:
        told = self.wrong("operator", "create", "ann", "--scope", "boss")
        self.assertIn("none of read, operate, admin", told)


class TrustTests(CommandCase, SynchronousTestCase):
    def test_setting_it(self) -> None:
        path = Path(self.mktemp())
        root = dict(public_jwk(generate("Ed25519")))
        path.write_text(json.dumps({"command_roots": [root]}))
        told = self.run_("trust", "set", str(path))
        self.assertEqual(told, "1 command roots; 1 of 0 approvers\n")
        self.assertEqual(self.said("trust", "show")["command_roots"], [root])
        path.write_text("{")
        self.assertIn("not JSON", self.misused("trust", "set", str(path)))

    def test_by_files_of_keys(self) -> None:
        """Only public halves are told, whichever half is in a file."""
        paths = [Path(self.mktemp()) for _ in range(3)]
        keys = [generate("Ed25519") for _ in paths]
        for path, key in zip(paths, keys, strict=True):
            path.touch(0o600)
            path.write_bytes(dumped(key))
        paths[2].write_text(json.dumps({"jwk": public_jwk(keys[2])}))
        root, *approvers = map(str, paths)
        told = self.run_("trust", "set", "--root", root, "--approver", approvers[0],
                         "--approver", approvers[1], "--quorum", "2")  # fmt: skip
        self.assertEqual(told, "1 command roots; 2 of 2 approvers\n")
        shown = self.said("trust", "show")
        self.assertEqual(shown["command_roots"], [public_jwk(keys[0])])
        self.assertEqual(shown["approvers"], [public_jwk(each) for each in keys[1:]])
        self.assertIn("one FILE", self.misused("trust", "set"))
        self.assertIn("one FILE", self.misused("trust", "set", root, "--root", root))
        self.assertIn("--quorum", self.misused("trust", "set", "--root", root, "-q", "x"))
        self.assertIn("no public key", self.wrong("trust", "set", "--root", __file__))

    def test_pins(self) -> None:
        told = self.run_("pins")
        self.assertIn('gateway_server_name = "gateway.example"\n', told)
        self.assertIn('join_signing_key_pin = "sha256/b"\n', told)
