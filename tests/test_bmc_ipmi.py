"""Tests for ``rescriptum.bmc.ipmi``: how ipmitool is called, and what is made of what it prints."""

import contextlib
import json
from collections.abc import Sequence

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.hosted.manifest import Manifest
from rescriptum.bmc.ipmi import parsing
from rescriptum.bmc.ipmi.arguments import Call, Target, call, checked, new_password
from rescriptum.bmc.ipmi.driver import IpmiDriver
from rescriptum.bmc.ipmi.failures import SAYINGS, refusal, saying
from rescriptum.bmc.ipmi.runner import MANIFEST, answered
from rescriptum.contract.bmc import (
    BMC_CODES,
    OPERATIONS,
    BmcRefusal,
    BootTarget,
    Nothing,
    PowerAction,
    RotateCredential,
    SetOverride,
    SetPower,
)
from rescriptum.values import Secret

PASSWORD = "s3cret"
ROOT = Credential("root", Secret(PASSWORD))
NOISE = (
    "Loading IANA PEN Registry...\n"
    "Running Get VSO Capabilities my_addr 0x20, transit 0, target 0x20\n"
    "Invalid completion code received: Invalid command\n"
    "Discovered IPMB address 0x0\n"
)
ON, OFF = "Chassis Power is on\n", "Chassis Power is off\n"
NO_17 = "Error in open session response message : invalid authentication algorithm\n"
NO_SESSION = "Error: Unable to establish IPMI v2 / RMCP+ session\n"
FLAGS = """Boot parameter version: 1
Boot parameter 5 is valid/unlocked
Boot parameter data: %s
 Boot Flags :
   - Boot Flag Valid
"""
USERS = (
    "ID  Name             Callin  Link Auth  IPMI Msg   Channel Priv Limit\n"
    "1                    true    false      true       USER\n"
    "2   root             true    false      true       ADMINISTRATOR\n"
    "3   true             true    false      false      Unknown (0x00)\n"
)


@define
class Said:
    status: int = 0
    stdout: str = ""
    stderr: str = NOISE


@define
class Scripted:
    """
    Plays ipmitool: one answer for each run.

    :ivar calls: that were made. :ivar waited: seconds.
    """

    answers: list[Said]
    calls: list[Call] = field(factory=list)
    waited: float = 0

    async def run(self, made: Call, seconds: float) -> Said:
        self.calls.append(made)
        return self.answers.pop(0)

    async def wait(self, seconds: float) -> None:
        self.waited += seconds

    def monotonic(self) -> float:
        return self.waited

    def words(self) -> list[str]:
        """:returns: each command, without how the BMC is reached."""
        return [" ".join(each.args[each.args.index("3") + 1 :]) for each in self.calls]


class IpmiCase(SynchronousTestCase):
    def ask(self, name: str, args: object = None, *answers: Said, **more: object) -> object:
        """:returns: the data of the outcome, or the code that it is refused by."""
        self.tool = Scripted(list(answers))
        driver = IpmiDriver("10.0.0.9", self.tool)
        asked = Asked(OPERATIONS[name], args or Nothing(), ROOT, **more)  # type: ignore[arg-type]
        results: list[object] = []
        Deferred.fromCoroutine(driver.run(asked)).addBoth(results.append)
        self.assertEqual(self.tool.answers, [])
        [result] = results
        if not isinstance(result, Failure):
            return result
        assert isinstance(result.value, BmcRefusal), result
        return result.value.code


def said(*printed: str) -> Sequence[Said]:
    return [Said(stdout=each) for each in printed]


class PowerTests(IpmiCase):
    def test_what_it_is(self) -> None:
        """On, off, or nobody knows."""
        for printed, state in ((ON, "on"), (OFF, "off"), ("Chassis Power is ?", "unknown")):
            self.assertEqual(self.ask("power.getPower", None, *said(printed)), {"power": state})

    def set(self, action: PowerAction, *answers: Said) -> object:
        return self.ask("power.setPower", SetPower(action), *answers)

    def test_every_action(self) -> None:
        """Each is its own word of ipmitool."""
        for action, word in (
            (PowerAction.RESET, "reset"),
            (PowerAction.CYCLE, "cycle"),
            (PowerAction.NMI, "diag"),
            (PowerAction.SOFT_OFF, "soft"),
        ):
            self.assertEqual(self.set(action, *said(ON, "")), {"power": "unknown"})
            self.assertEqual(self.tool.words()[-1], f"chassis power {word}")

    def test_what_holds_already(self) -> None:
        """Nothing is asked for: BMCs refuse it (W227)."""
        self.assertEqual(self.set(PowerAction.ON, *said(ON)), {"power": "on"})
        self.assertEqual(self.set(PowerAction.OFF, *said(OFF)), {"power": "off"})
        self.assertEqual(self.set(PowerAction.SOFT_OFF, *said(OFF)), {"power": "off"})

    def test_a_machine_that_is_off_is_not_cycled(self) -> None:
        """It is turned on."""
        self.assertEqual(self.set(PowerAction.CYCLE, *said(OFF, "", ON)), {"power": "on"})
        self.assertEqual(self.tool.words()[1], "chassis power on")

    def test_it_takes_its_time(self) -> None:
        """The state is looked at until it is as wanted, or the time is up (W229)."""
        self.assertEqual(self.set(PowerAction.OFF, *said(ON, "", ON, ON, OFF)), {"power": "off"})
        self.assertEqual(self.tool.waited, 10)
        self.assertEqual(self.set(PowerAction.OFF, *said(ON, "", *[ON] * 7)), "timeout")
        self.assertEqual(self.tool.waited, 30)


class BootTests(IpmiCase):
    def test_what_is_set(self) -> None:
        """The bytes are read, and not the words, which differ by release."""
        for data, told in (
            ("8004000000", {"target": "pxe", "once": True, "uefi": False}),
            ("e004000000", {"target": "pxe", "once": False, "uefi": True}),
            ("a008000000", {"target": "hdd", "once": True, "uefi": True}),
            ("8014000000", {"target": "cd", "once": True, "uefi": False}),
            ("8018000000", {"target": "unknown", "once": True, "uefi": False}),
            ("0004000000", {"target": "none", "once": False, "uefi": None}),
        ):
            self.assertEqual(self.ask("boot.getOverride", None, *said(FLAGS % data)), told)
        self.assertEqual(self.ask("boot.getOverride", None, *said("no idea")), "bad-response")

    def test_once_by_uefi(self) -> None:
        """It does not lapse after a minute, and is read back."""
        args = SetOverride(BootTarget.PXE, uefi=True)
        made = self.ask("boot.setOverride", args, *said("", "", FLAGS % "a004000000"))
        self.assertEqual(made, {"target": "pxe", "once": True, "uefi": True})
        self.assertEqual(
            self.tool.words(),
            [
                "raw 0x00 0x08 0x03 0x08",
                "chassis bootdev pxe options=efiboot",
                "chassis bootparam get 5",
            ],
        )

    def test_as_it_was(self) -> None:
        """Where nobody says how, the BMC's own word counts; without one, UEFI."""
        for data, options in (
            ("8000000000", "options=persistent"),
            ("0000000000", "options=efiboot,persistent"),
        ):
            args = SetOverride(BootTarget.HDD, once=False)
            answers = said(FLAGS % data, "", "", FLAGS % "c008000000")
            self.ask("boot.setOverride", args, *answers)
            self.assertEqual(self.tool.words()[2], f"chassis bootdev disk {options}")

    def test_a_bmc_that_forgets_at_once(self) -> None:
        """It took it, and shows something else: that is a no."""
        args = SetOverride(BootTarget.PXE, uefi=False)
        answers = [Said(1, "", "Invalid data field in request"), *said("", FLAGS % "0008000000")]
        self.assertEqual(self.ask("boot.setOverride", args, *answers), "refused")

    def test_no_http(self) -> None:
        """IPMI has no such target; nothing is asked."""
        args = SetOverride(BootTarget.HTTP)
        self.assertEqual(self.ask("boot.setOverride", args), "unsupported-operation")


class ManagementTests(IpmiCase):
    def test_inventory(self) -> None:
        """Of the controller and of one device alone; a board without one is none the worse."""
        controller = "Firmware Revision         : 9.08\nManufacturer Name         : Acme: Inc\n"
        fru = " Product Name          : R1\n Product Serial        : 42\n Board Mfg   : Acme\n"
        made = self.ask("inventory.get", None, *said(controller, fru))
        self.assertEqual(
            made,
            {
                "manufacturer": "Acme",
                "model": "R1",
                "serial": "42",
                "bmc_version": "9.08",
                "bmc_manufacturer": "Acme: Inc",
            },
        )
        self.assertEqual(self.tool.words()[1], "fru print 0")
        absent = Said(1, " Device not present (Invalid data field in request)\n")
        self.assertEqual(
            self.ask("inventory.get", None, *said(controller), absent),
            {"bmc_version": "9.08", "bmc_manufacturer": "Acme: Inc"},
        )

    def test_the_event_log(self) -> None:
        """The newest, each cut to a bound."""
        lines = [f"{n:x},11/30/2026,23:59:0{n % 10},Fan #0x1,Failure,Asserted" for n in range(600)]
        made = self.ask("management.getSelLog", None, *said("", "\n".join(lines)))
        assert isinstance(made, dict)
        entries = made["entries"]
        self.assertEqual(len(entries), parsing.MOST_EVENTS)
        self.assertEqual(entries[-1]["id"], "257")
        self.assertEqual(entries[-1]["event"], "Failure")
        self.assertNotIn("-v", self.tool.calls[1].args)
        self.assertEqual(self.tool.words()[1], "-c sel list last 500")

    def test_a_rotation(self) -> None:
        """The new password is on stdin alone, and is tried at once."""
        new = Credential("root", Secret("n3w-s3cret"))
        args = RotateCredential("ref")
        made = self.ask("management.rotateCredential", args, *said(USERS, "", ""), replacement=new)
        self.assertEqual(made, {"verified": True})
        self.assertEqual(self.tool.words(), ["user list", "exec /dev/stdin", "mc info"])
        self.assertEqual(self.tool.calls[1].stdin, b"user set password 2 n3w-s3cret 16\n")
        self.assertEqual(self.tool.calls[2].environ, {"IPMI_PASSWORD": "n3w-s3cret"})
        failed = Said(1, "", NOISE + "> RAKP 2 HMAC is invalid\n" + NO_SESSION)
        made = self.ask(
            "management.rotateCredential", args, *said(USERS, ""), failed, replacement=new
        )
        self.assertEqual(made, {"verified": False, "reason": "auth-failed"})

    def test_reset(self) -> None:
        """Cold."""
        self.assertEqual(self.ask("management.reset", None, *said("")), {})
        self.assertEqual(self.tool.words(), ["mc reset cold"])

    def test_what_ipmi_cannot(self) -> None:
        """Media and firmware: nothing is asked."""
        self.assertEqual(self.ask("media.eject"), "unsupported-operation")
        self.assertEqual(self.ask("firmware.list"), "unsupported-operation")


class SessionTests(IpmiCase):
    def ciphers(self) -> list[str]:
        return [each.args[each.args.index("-C") + 1] for each in self.tool.calls]

    def test_cipher_suites(self) -> None:
        """17, then 3, which is kept for the rest of the operation; never 0 (W248)."""
        refused = Said(1, "", NOISE + NO_17 + NO_SESSION)
        self.tool = Scripted([refused, *said(OFF, "", ON)])
        driver = IpmiDriver("10.0.0.9", self.tool)
        asked = Asked(OPERATIONS["power.setPower"], SetPower(PowerAction.ON), ROOT)
        self.successResultOf(Deferred.fromCoroutine(driver.run(asked)))
        self.assertEqual(self.ciphers(), ["17", "3", "3", "3"])

    def test_a_wrong_password_is_tried_once(self) -> None:
        """Some tries more, and the BMC locks the account (W246)."""
        wrong = Said(1, "", NOISE + "> RAKP 2 HMAC is invalid\n" + NO_SESSION)
        self.assertEqual(self.ask("power.getPower", None, wrong), "auth-failed")

    def test_no_pins(self) -> None:
        """IPMI has no key: a pin that would not be looked at is refused."""
        driver = IpmiDriver("10.0.0.9", Scripted([]), "sha256/" + "A" * 43 + "=")
        asked = Asked(OPERATIONS["power.getPower"], Nothing(), ROOT)
        failure = self.failureResultOf(Deferred.fromCoroutine(driver.run(asked)), BmcRefusal)
        self.assertEqual(failure.value.code, "pin-unsupported")

    def test_time_is_up(self) -> None:
        """Between two runs, too."""
        self.tool = Scripted([*said(ON, "", ON, ON)])
        driver = IpmiDriver("10.0.0.9", self.tool)
        asked = Asked(OPERATIONS["power.setPower"], SetPower(PowerAction.OFF), ROOT, seconds=9)
        failure = self.failureResultOf(Deferred.fromCoroutine(driver.run(asked)), BmcRefusal)
        self.assertEqual(failure.value.code, "timeout")


class ArgumentsTests(SynchronousTestCase):
    def test_no_password_in_arguments(self) -> None:
        """It is in the environment, which nobody else reads, and not in what is shown of a call."""
        made = call(Target("h"), ROOT, 17, ("mc", "info"))
        self.assertNotIn(PASSWORD, " ".join(made.args))
        self.assertIn("-E", made.args)
        self.assertEqual(made.environ, {"IPMI_PASSWORD": PASSWORD})
        self.assertNotIn(PASSWORD, repr(made))

    def wrong(self, address: str = "h", **options: object) -> str:
        with self.assertRaises(BmcRefusal) as raised:
            Target.parse(address, options)
        self.assertEqual(raised.exception.code, "invalid-config")
        return str(raised.exception.detail)

    def test_addresses(self) -> None:
        """Host, port, IPv6; nothing that ipmitool would take for an option."""
        self.assertEqual(Target.parse("bmc.example:6230", {}), Target("bmc.example", 6230))
        self.assertEqual(Target.parse("[fe80::1]:1", {}), Target("fe80::1", 1))
        self.assertEqual(Target.parse("fe80::1", {}), Target("fe80::1"))
        for address in ("-C0", "", "a b", "h:0", "h:65536", "h:x", "h\n", "user@h", "h/x"):
            self.assertIn("address", self.wrong(address))

    def test_options(self) -> None:
        """Suites that authenticate, and privileges that are enough."""
        made = Target.parse("h", {"cipher_suites": [3], "privilege": "OPERATOR"})
        self.assertEqual((made.ciphers, made.privilege), ((3,), "OPERATOR"))
        for suites in ([0], [17, 0], [], "17", [True]):
            self.assertIn("cipher_suites", self.wrong(cipher_suites=suites))
        self.assertIn("privilege", self.wrong(privilege="CALLBACK"))
        self.assertIn("'colour'", self.wrong(colour=1))

    def test_lengths(self) -> None:
        """As IPMI 2.0 has them, in bytes (W248)."""
        checked(Credential("a" * 16, Secret("b" * 20)))
        for bad in (
            None,
            Credential("a" * 17, Secret("b")),
            Credential("a", Secret("b" * 21)),
            Credential("a", Secret("é" * 11)),
            Credential("a", Secret("")),
            Credential("a", Secret("x\n")),
        ):
            with self.assertRaises(BmcRefusal) as raised:
                checked(bad)
            self.assertEqual(raised.exception.code, "invalid-config")

    def test_new_passwords(self) -> None:
        """None that ``exec`` would cut, join or unquote; none is in the refusal."""
        self.assertEqual(
            new_password(3, Secret("x" * 17)), b"user set password 3 %s 20\n" % (b"x" * 17)
        )
        for bad in ("a#b", "a b", "a~b", "'ab", '"ab', "é"):
            with self.assertRaises(BmcRefusal) as raised:
                new_password(3, Secret(bad))
            self.assertNotIn(bad, str(raised.exception))


class FailuresTests(SynchronousTestCase):
    def test_what_ipmitool_says(self) -> None:
        """As release 1.8.19 says it, each after the noise that it makes of every session."""
        for stderr, code in (
            ("> RAKP 2 HMAC is invalid\n" + NO_SESSION, "auth-failed"),
            ("RAKP 2 message indicates an error : unauthorized name\n" + NO_SESSION, "auth-failed"),
            ("Get Auth Capabilities error\n" + NO_SESSION, "unreachable"),
            ("Address lookup for x failed\nCould not open socket!\n" + NO_SESSION, "unreachable"),
            (NO_17 + NO_SESSION, "tls-error"),
            (NO_SESSION, "unreachable"),
            (
                "Set Chassis Power Control to Diag failed: Invalid data field in request",
                "unsupported-operation",
            ),
            (
                "Set Chassis Power Control to Cycle failed: Command not supported in present state",
                "conflict",
            ),
            ("Set Chassis Power Control to Up/On failed: Timeout", "timeout"),
            ("Given User ID '99' is either invalid or out of range.", "failed"),
            ("", "failed"),
        ):
            self.assertEqual(refusal(NOISE + stderr).code, code, stderr)

    def test_the_table(self) -> None:
        """Words once, in lower case; codes of the contract; another suite for no failed login."""
        words = [each.words for each in SAYINGS]
        self.assertEqual(len(set(words)), len(words))
        for each in SAYINGS:
            self.assertEqual(each.words, each.words.lower())
            self.assertIn(each.code, BMC_CODES)
            self.assertFalse(each.other_cipher and each.code == "auth-failed")
            found = saying(f"x {each.words.upper()} y")
            assert found is not None
            self.assertEqual(found.code, each.code, each)


class ParsingTests(SynchronousTestCase):
    @given(st.text())
    def test_whatever_is_printed(self, junk: str) -> None:
        """Values, or BmcRefusal; nothing else is raised."""
        parsing.power(junk)
        parsing.inventory(junk, junk)
        self.assertLessEqual(len(parsing.events(junk)), parsing.MOST_EVENTS)
        refusal(junk)
        with contextlib.suppress(BmcRefusal):
            parsing.override(junk)
        with contextlib.suppress(BmcRefusal):
            parsing.user_id(junk, "root")

    def test_users(self) -> None:
        """By the column of names: others have words that could be one."""
        self.assertEqual(parsing.user_id(USERS, "root"), 2)
        self.assertEqual(parsing.user_id(USERS, "true"), 3)
        self.assertRaises(BmcRefusal, parsing.user_id, USERS, "admin")


class ProgramTests(SynchronousTestCase):
    def test_its_manifest(self) -> None:
        """As those who host it want it."""
        made = Manifest.parse(json.dumps(MANIFEST).encode())
        self.assertEqual(made.id, "ipmi")
        self.assertEqual(made.concerns, ("boot", "inventory", "management", "power"))

    def code(self, **told: object) -> object:
        whole = {
            "operation": "power.getPower",
            "args": {},
            "config": {"address": "h", "pin": "x", "options": {}},
            "secrets": {"username": "root", "password": PASSWORD},
        }
        return answered({**whole, **told})["code"]

    def test_what_is_no_request(self) -> None:
        """A code for each, and never a traceback."""
        self.assertEqual(self.code(), "pin-unsupported")
        self.assertEqual(answered(None)["code"], "invalid-config")
        self.assertEqual(self.code(config=1), "invalid-config")
        self.assertEqual(self.code(operation="power.dance"), "unsupported-operation")
        self.assertEqual(self.code(args={"x": 1}), "invalid-config")
        self.assertEqual(
            self.code(operation="power.setPower", args={"action": "up"}), "invalid-config"
        )
