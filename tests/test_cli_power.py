"""Tests for ``rescriptum power`` and ``install``: how they are asked, and how outcomes are told."""

import io

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cli.main import main
from rescriptum.cli.power.file import canonical
from rescriptum.cli.power.machine import Told, explained, override_line
from rescriptum.cli.power.ways import trust_of
from rescriptum.contract.bmc import UNCHANGED, BmcRefusal
from rescriptum.power.controllers import Commands, Controlled, Redfish
from rescriptum.power.reading import read

MACHINE = Controlled("m-1", Commands({"on": ("x",)}))


class AskingTests(SynchronousTestCase):
    def test_misuse(self) -> None:
        """Exit code 2, and the way it goes."""
        for argv, usage in (
            (("power", "on"), "Usage: rescriptum power on ID"),
            (("power", "status", "a", "b"), "one machine at a time: a or b?"),
            (("power", "off", " "), "which machine?"),
            (("power", "pxe", "a", "--hard"), "Usage: rescriptum power pxe ID"),
            (("power", "list", "a"), "Usage: rescriptum power list"),
            (("power",), "which one? fake-bmc, list, off, on, probe, pxe, status"),
            (("install",), "Usage: rescriptum install ID [--dry-run] [--json]"),
        ):
            out, err = io.StringIO(), io.StringIO()
            self.assertEqual(main(argv, {}, out, err), 2, argv)
            self.assertIn(usage, err.getvalue())
            self.assertEqual(out.getvalue(), "")

    def test_one_identity_in_its_spellings(self) -> None:
        """A UUID in both byte orders too (W078)."""
        self.assertEqual(canonical("52:54:00:AB:34:56"), canonical("525400ab3456"))
        one = "4c4c4544-0053-4d10-8052-b3c04f4c4142"
        other = "44454c4c-5300-104d-8052-b3c04f4c4142"
        self.assertEqual(canonical(one), canonical(other.upper()))
        self.assertEqual(canonical("--"), "")

    def test_trust_is_what_the_file_says(self) -> None:
        pin = "sha256/AHc5lRFxlPpFNrCv3+bxSk1qyMMNRcU2lVtPGn3nCJ0="
        for said, vouching, legacy in (
            (f'pinnedpubkey = "{pin}"', "pin", False),
            ('cacert = "/ca.pem"\nlegacy_tls = true', "authority", True),
            ("verify = false", "nobody", False),
        ):
            text = f'[a]\nkind="redfish"\nurl="https://x"\nuser="u"\npass="p"\n{said}\n'
            [machine] = read(text, "c", str.lower)
            assert isinstance(machine.controller, Redfish)
            trust = trust_of(machine.controller)
            self.assertEqual((trust.vouching.value, trust.legacy), (vouching, legacy))
            if vouching == "pin":
                self.assertEqual(str(trust.pin), pin)
            self.assertEqual(trust.authority is not None, vouching == "authority")


class TellingTests(SynchronousTestCase):
    def test_nobody_knows(self) -> None:
        """Of a change that timed out, unless nothing had been sent that changes anything."""
        for detail, writes, unknown in (
            ("no answer", True, True),
            (f"no answer; {UNCHANGED}", True, False),
            ("no answer", False, False),
        ):
            error = BmcRefusal("timeout", detail)
            self.assertEqual("Nobody knows" in explained(MACHINE, error, writes), unknown)
            told = Told(MACHINE, "power.setPower", writes, {}, error).as_json()
            self.assertEqual((told["ok"], told["unknown"]), (False, unknown))
        error = BmcRefusal("refused", "no")
        self.assertFalse(Told(MACHINE, "power.setPower", True, {}, error).as_json()["unknown"])

    def test_one_line_whatever_a_bmc_says(self) -> None:
        """Codes of its own have no advice."""
        said = explained(MACHINE, BmcRefusal("pin-unsupported", "a\n\x1b[2Jb"), True)
        self.assertEqual(said, "m-1: pin-unsupported: a\\n\\x1b[2Jb.")

    def test_overrides(self) -> None:
        for data, text in (
            ({"once": True, "uefi": True}, "boots from the network once in UEFI mode"),
            ({"once": True, "uefi": False}, "boots from the network once in BIOS mode"),
            ({"once": True, "uefi": None}, "boots from the network once"),
            ({"once": False}, "boots from the network every time: this BMC knows no once"),
        ):
            self.assertEqual(override_line(data), text)
