"""Tests for ``rescriptum ramdisk verify-wipe``: a certificate, looked at where it lies."""

import io
import json
from pathlib import Path

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.gateway.keyfiles import LONGEST
from rescriptum.cli.main import main
from rescriptum.contract.commands import Result
from rescriptum.contract.keys import generate
from rescriptum.contract.ramdisk import WipeMode
from rescriptum.ramdisk.wipe.certificate import document
from tests.test_ramdisk_verdict import DISK, FAILED, QUICK, result, signed


class VerifyWipeTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path = Path(self.mktemp()).absolute()
        self.path.mkdir()
        self.key = generate("Ed25519")
        self.thumbprint = self.key.thumbprint()
        self.node = self.file("node.json", json.dumps({"id": "n1", "jkt": self.thumbprint}))

    def file(self, name: str, text: str) -> str:
        (self.path / name).write_text(text)
        return str(self.path / name)

    def certificate(self, made: Result, **changed: int) -> str:
        text = signed(self.key, made, None, **changed)
        return self.file("wipe.json", json.dumps({"id": "c1", "attestation": text}))

    def verify(self, *arguments: str) -> tuple[int, str, str]:
        """:returns: exit code, standard output, standard error."""
        out, err = io.StringIO(), io.StringIO()
        code = main(["ramdisk", "verify-wipe", *arguments], {}, out, err)
        return code, out.getvalue(), err.getvalue()

    def refused(self, *arguments: str) -> str:
        code, out, err = self.verify(*arguments)
        self.assertEqual((code, out), (2, ""), err)
        return err

    def test_good(self) -> None:
        """Per disk: what was done, when and by whom, and what that does not reach."""
        code, out, err = self.verify(self.certificate(result(DISK)), "--node", self.node)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            out,
            f"""\
node      n1, by the key {self.thumbprint}
command   c1, secure, in boot boot-1
finished  2027-01-15T08:00:00Z
sda, sdb  EXAMPLE SSD, serial S1, 1073741824 bytes
          verified: ata-enhanced-erase, in 480 s
          looked at: 66 of 66 places of 4096 bytes, seed 7
          read back as zeros: 4194304 bytes in 2 places
          not covered: sectors that the drive has hidden (HPA, DCO)
          not covered: firmware's own store: TPM, UEFI variables, pstore (W286)
sr0       left alone: no disk, but rom
good: 1 verified, 1 left alone; signed by whom was expected
""",
        )

    def test_by_thumbprint(self) -> None:
        name = self.certificate(result(QUICK, mode=WipeMode.QUICK))
        self.assertEqual(self.verify(name, "-t", self.thumbprint)[0], 0)
        code, out, err = self.verify(name, "--thumbprint", "another")
        self.assertEqual(code, 1)
        self.assertNotIn("good", out)
        self.assertEqual(
            err, f"error: {name}: jwk: the key is {self.thumbprint}, and another is expected\n"
        )

    def test_nobody_vouches(self) -> None:
        code, _, err = self.verify(self.certificate(result(DISK)))
        self.assertEqual(code, 1)
        self.assertIn("jwk: nobody vouches for the key", err)

    def test_not_verified(self) -> None:
        name = self.certificate(result(DISK, evolve(FAILED, name="sdc")))
        code, out, err = self.verify(name, "--node", self.node)
        self.assertEqual((code, err), (1, f"error: {name}: sdc: not verified: EIO\n"))
        self.assertIn("sdc, sdb  EXAMPLE SSD", out)
        self.assertIn("          NOT VERIFIED: EIO\n", out)

    def test_a_wrong_signature(self) -> None:
        """Nothing of it is told."""
        name = self.file("wipe", signed(self.key, result(DISK))[:-4] + "AAAA")
        code, out, err = self.verify(name, "--node", self.node)
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"error: {name}: the signature is not that of the key in it", err)

    def test_for_programs(self) -> None:
        name = self.certificate(result(DISK))
        code, out, err = self.verify(name, "--node", self.node, "--json")
        said = json.loads(out)
        self.assertEqual((code, err, said["good"], said["problems"]), (0, "", True, []))
        self.assertEqual((said["node"], said["finished_at"]), ("n1", "2027-01-15T08:00:00Z"))
        self.assertEqual(
            said["disks"][0]["leaves_out"][0], "sectors that the drive has hidden (HPA, DCO)"
        )
        code, out, err = self.verify(name, "--json")
        self.assertEqual((code, err, json.loads(out)["good"]), (1, "", False))
        name = self.file("forged", signed(self.key, result(DISK))[:-4] + "AAAA")
        said = json.loads(self.verify(name, "--json")[1])
        self.assertEqual(sorted(said), ["good", "problems", "thumbprint"])

    def test_many_and_complaints(self) -> None:
        """What there was no room for, and what would not come apart."""
        data = document(WipeMode.SECURE, [DISK] * 300, {}, ["mdadm: busy\x1b[2J"])
        name = self.certificate(Result(True, "ok", "", data))
        code, out, _ = self.verify(name, "--node", self.node)
        self.assertEqual(code, 0)
        self.assertIn("…         60 more disks, for which there was no room\n", out)
        self.assertIn("complaint mdadm: busy", out)
        self.assertNotIn("\x1b", out)
        self.assertEqual(out.count("not covered: sectors that the drive has hidden"), 240)

    def test_hidden_sectors(self) -> None:
        """That there are some is no guess then."""
        name = self.certificate(result(evolve(DISK, abilities={"hidden_sectors": 2113})))
        self.assertIn(
            "          not covered: 2113 sectors are hidden at this moment (HPA)\n",
            self.verify(name, "--node", self.node)[1],
        )

    def test_before(self) -> None:
        tries = (*FAILED.tries, *DISK.tries)
        name = self.certificate(result(evolve(DISK, tries=tries)), finished_at=2**53 - 1)
        code, out, _ = self.verify(name, "--node", self.node)
        self.assertEqual(code, 0)
        self.assertIn("          before: overwrite: EIO\n", out)
        self.assertIn(f"finished  {2**53 - 1} s after 1970\n", out)

    def test_what_is_none(self) -> None:
        """Exit code 2, and which member of which file is wrong."""
        name = self.file("wipe.json", '{"id": "c1", "attestation": null}')
        self.assertIn(f"{name}: attestation: the signed result belongs here", self.refused(name))
        missing = str(self.path / "none")
        self.assertIn(f"{missing}: cannot be read: No such file", self.refused(missing))
        name = self.file("long", "{" + " " * LONGEST)
        self.assertIn(f"longer than {LONGEST} bytes", self.refused(name))
        good = self.certificate(result(DISK))
        self.assertIn(f"{name}: longer", self.refused(good, "--node", name))
        node = self.file("node.json", '{"id": "n1"}')
        self.assertIn(f"{node}: jkt: ", self.refused(good, "--node", node))

    def test_usage(self) -> None:
        for arguments, said in (
            ((), "which FILE?"),
            (("a", "b"), "one too many: 'b'"),
            (("a", "--node", "b", "--thumbprint", "c"), "--node or --thumbprint"),
            (("a", "--thumbprint", ""), "--thumbprint is empty"),
        ):
            self.assertIn(said, self.refused(*arguments))
