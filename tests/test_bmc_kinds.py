"""Tests for ``rescriptum.bmc.kinds``, ``credentials``, ``hosts`` and ``store``."""

import json
from collections.abc import Awaitable, Callable

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.kinds import AnyKind, KindTable
from rescriptum.bmc.credentials import LONGEST, credential
from rescriptum.bmc.driver import Asked, Driver
from rescriptum.bmc.hosts import ADDRESSES, MOST, Hosts, authority, host_of, host_within
from rescriptum.bmc.kinds import NAMES, kinds
from rescriptum.bmc.store import HOSTS, KnownHosts
from rescriptum.contract.bmc import (
    OPERATIONS,
    BmcOperationRequest,
    BmcRefusal,
    BootTarget,
    Operation,
    SetOverride,
    SetPower,
)
from rescriptum.contract.commands import LONGEST_RESULT, Command, Result
from rescriptum.contract.joining import Role
from rescriptum.contract.kinds import KINDS
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON, rendered, structured
from rescriptum.errors import RescriptumError, Unavailable
from rescriptum.testing import MemoryWorkers
from rescriptum.values import Secret
from tests.sitebootcases import NOW, MemoryDirectory

ON: JSON = {"operation": "power.setPower", "address": "10.0.0.9", "args": {"action": "on"}}
ROTATE: JSON = {
    "operation": "management.rotateCredential",
    "address": "10.0.0.9",
    "args": {"newCredentialRef": "new"},
}
UPDATE: JSON = {
    "operation": "firmware.update",
    "address": "10.0.0.9",
    "args": {"sha256": "ab" * 32, "url": "https://vendor/x", "targets": ["BMC"]},
}


@define
class Running:
    """:ivar told: how far it has come."""

    command: Command
    secrets: dict[str, str | RescriptumError]
    told: list[JSON] = field(factory=list)

    async def secret(self, ref: str) -> Secret:
        found = self.secrets[ref]
        if isinstance(found, RescriptumError):
            raise found
        return Secret(found)

    def progress(self, data: JSON) -> None:
        self.told.append(data)


@define
class Answering:
    """A driver. :ivar asked: what it was."""

    answer: dict[str, object] | BmcRefusal
    asked: list[Asked] = field(factory=list)

    async def run(self, asked: Asked) -> dict[str, object]:
        self.asked.append(asked)
        if isinstance(self.answer, BmcRefusal):
            raise self.answer
        return self.answer


@define
class Agent:
    """
    The ways of an agent and its cache, in memory.

    :ivar did: what was done, in its order.
    """

    driving: Answering
    image_answer: BmcRefusal | None = None
    did: list[str] = field(factory=list)
    url: str = "http://here/cache/f/g/ab"

    def driver(self, request: BmcOperationRequest, operation: Operation) -> Driver:
        if request.driver == "none":
            raise BmcRefusal("unsupported-driver", "none is not hosted here")
        self.did.append(f"driver {operation.name}")
        return self.driving

    async def remember(self, address: str) -> None:
        self.did.append(f"remember {address}")

    async def run(
        self, address: str, work: Callable[[], Awaitable[dict[str, object]]]
    ) -> dict[str, object]:
        self.did.append(f"run {address}")
        return await work()

    async def image(self, sha256: str, url: str, seconds: float) -> "Agent":
        self.did.append(f"image {url}")
        if self.image_answer is not None:
            raise self.image_answer
        return self

    def withdraw(self) -> None:
        self.did.append("withdraw")


class KindsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.driver = Answering({})
        self.agent = Agent(self.driver)
        made: tuple[AnyKind, ...] = kinds(self.agent, self.agent)
        self.table = KindTable(Role.SITE, made)

    def run_(self, payload: JSON, name: str = "", **secrets: str | RescriptumError) -> JSON:
        """
        :param name: of the kind; the one that the operation is of.
        :returns: the outcome.
        :raises Rejected: when the command fails.
        """
        kind = name or OPERATIONS[str(payload["operation"])].kind
        command = Command("c1", "n1", kind, payload, "w1", "s1", NOW, NOW + 60)
        found, made = self.table.find(kind), self.table.payload(command)
        found.resource(made)
        self.running = Running(command, secrets)
        results: list[object] = []
        running = Deferred.fromCoroutine(found.run(self.running, made))  # type: ignore[arg-type]
        running.addBoth(results.append)
        if isinstance(results[0], Failure):
            results[0].raiseException()
        outcome = results[0]
        assert isinstance(outcome, dict)
        return outcome

    def test_the_table(self) -> None:
        """Six kinds, which gateways know by the same names, for site agents alone."""
        self.assertEqual(len(NAMES), 6)
        for name in NAMES:
            self.assertEqual(self.table.find(name).roles, KINDS[name].roles)

    def test_an_operation(self) -> None:
        """Its arguments are of its class, and the BMC is remembered before it is asked."""
        outcome = self.run_(ON)
        self.assertEqual(outcome, {"ok": True, "code": "ok", "detail": "", "data": {}})
        [asked] = self.driver.asked
        assert isinstance(asked.args, SetPower)
        self.assertEqual((asked.args.action.value, asked.seconds), ("on", 60))
        self.assertEqual(
            self.agent.did,
            ["driver power.setPower", "remember 10.0.0.9", "run 10.0.0.9"],
        )
        self.run_(
            {
                **ON,
                "operation": "boot.setOverride",
                "args": {"target": "pxe", "uefi": True},
                "timeout_s": 9,
            }
        )
        self.assertEqual(self.driver.asked[1].args, SetOverride(BootTarget.PXE, True, True))
        self.assertEqual(self.driver.asked[1].seconds, 9)

    def rejected(self, payload: JSON, name: str = "bmc.power") -> str:
        with self.assertRaises(Rejected) as raised:
            self.run_(payload, name)
        self.assertEqual(raised.exception.code, "invalid-payload")
        return str(raised.exception.detail)

    def test_payloads_that_cannot_be(self) -> None:
        """The command fails, by what is wrong; no driver hears of it."""
        for operation in OPERATIONS.values():
            if operation.kind != "bmc.power":
                self.assertIn(
                    "bmc.power takes power.getPower, power.setPower",
                    self.rejected({**ON, "operation": operation.name}),
                )
        self.assertIn("operation", self.rejected({**ON, "operation": "power.dance"}))
        self.assertIn("args: ", self.rejected({**ON, "args": {"action": "up"}}))
        self.assertIn("unknown: 'x'", self.rejected({**ON, "args": {"action": "on", "x": 1}}))
        self.assertIn("missing: action", self.rejected({**ON, "args": {}}))
        self.assertIn("timeout_s", self.rejected({**ON, "timeout_s": 3601}))
        self.assertIn("address", self.rejected({**ON, "address": ""}))
        self.assertEqual(self.agent.did, [])

    def test_a_bmc_that_says_no(self) -> None:
        """Does not fail its command: that is what the command was to find out."""
        self.driver.answer = BmcRefusal("acme-jammed", "x" * 5000)
        outcome = self.run_(ON)
        self.assertEqual((outcome["ok"], outcome["code"]), (False, "acme-jammed"))
        self.assertEqual(len(str(outcome["detail"])), 2048)
        self.assertEqual(self.run_({**ON, "driver": "none"})["code"], "unsupported-driver")

    def test_one_lane_a_bmc(self) -> None:
        """Whichever kind asks it, in whatever case of letters."""
        lanes = {
            self.table.find(OPERATIONS[str(each["operation"])].kind).resource(
                structured(BmcOperationRequest, {**each, "address": address})
            )
            for each in (ON, ROTATE, UPDATE)
            for address in ("BMC.example", "bmc.example")
        }
        self.assertEqual(lanes, {"bmc bmc.example"})

    # Credentials.

    def test_credentials(self) -> None:
        """JSON with both, or a bare password of the payload's user; asked for by reference."""
        payload = {**ON, "credential_ref": "ref", "username": "admin"}
        for text, name, password in (
            ('{"username": "root", "password": "p"}', "root", "p"),
            ("p\n", "admin", "p"),
        ):
            self.run_(payload, ref=text)
            used = self.driver.asked[-1].credential
            assert used is not None
            self.assertEqual((used.username, used.password.reveal()), (name, password))

    def test_no_credential(self) -> None:
        """A BMC may ask for none."""
        self.run_(ON)
        self.assertIsNone(self.driver.asked[0].credential)

    def test_a_rotation(self) -> None:
        """The new one is fetched the same way; a bare password is of the same user."""
        payload = {**ROTATE, "credential_ref": "old"}
        self.run_(payload, old='{"username": "root", "password": "a"}', new="b")
        replacement = self.driver.asked[0].replacement
        assert replacement is not None
        self.assertEqual((replacement.username, replacement.password.reveal()), ("root", "b"))
        self.assertEqual(self.run_(ROTATE)["code"], "invalid-config")

    def test_secrets_that_are_not_given(self) -> None:
        """The BMC's record is wrong, or there is no session: no BMC was asked."""
        payload = {**ON, "credential_ref": "ref"}
        self.assertEqual(
            self.run_(payload, ref=Rejected("secret-refused"))["code"], "invalid-config"
        )
        self.assertEqual(self.run_(payload, ref=Unavailable("no session"))["code"], "failed")
        self.assertEqual(
            self.run_(payload, ref='{"password": "hunter2"}')["code"], "invalid-config"
        )
        self.assertEqual(self.driver.asked, [])

    def test_nothing_tells_a_secret(self) -> None:
        """No log, no outcome, no progress, no repr."""
        with capturedLogs() as events:
            outcome = self.run_(
                {**ON, "credential_ref": "ref"}, ref='{"username": "r", "password": "hunter2"}'
            )
            self.run_({**ON, "credential_ref": "ref"}, ref='{"password": "hunter2"}')
        told = [outcome, events, self.driver.asked, self.running.told]
        self.assertNotIn("hunter2", repr(told))

    # Firmware.

    def test_firmware(self) -> None:
        """Verified first; the BMC gets this agent's URL, and the grant goes with the operation."""
        self.run_(UPDATE)
        self.assertEqual(
            self.agent.did,
            [
                "driver firmware.update",
                "remember 10.0.0.9",
                "image https://vendor/x",
                "run 10.0.0.9",
                "withdraw",
            ],
        )
        self.assertEqual(self.driver.asked[0].image_url, "http://here/cache/f/g/ab")
        self.assertEqual(self.running.told, [{"stage": "image"}, {"stage": "update"}])

    def test_firmware_that_fails(self) -> None:
        """The grant is withdrawn all the same."""
        self.driver.answer = BmcRefusal("failed")
        self.assertEqual(self.run_(UPDATE)["code"], "failed")
        self.assertEqual(self.agent.did[-1], "withdraw")

    def test_firmware_that_is_not_verified(self) -> None:
        """No BMC is asked."""
        self.agent.image_answer = BmcRefusal("image-unverified")
        self.assertEqual(self.run_(UPDATE)["code"], "image-unverified")
        self.assertEqual(self.driver.asked, [])

    def test_progress(self) -> None:
        """What a driver tells goes to the gateway."""
        self.run_(ON)
        self.driver.asked[0].progress({"percent": 7})
        self.assertEqual(self.running.told, [{"percent": 7}])

    def test_more_data_than_a_result_has_room_for(self) -> None:
        """It was done: that is told, without the data."""
        self.driver.answer = {"x": "y" * LONGEST_RESULT}
        outcome = self.run_(ON)
        self.assertEqual((outcome["ok"], outcome["data"]), (True, {}))
        self.assertIn("bytes of data", str(outcome["detail"]))
        self.driver.answer = {"x": "y" * (LONGEST_RESULT - 20_000)}
        kept = self.run_(ON)
        self.assertLess(len(rendered(Result(True, "ok", data=kept))), LONGEST_RESULT)
        self.assertTrue(kept["data"])


class CredentialTests(SynchronousTestCase):
    def test_the_bounds(self) -> None:
        """So many characters, and one more is none."""
        self.assertEqual(len(credential(Secret("x" * LONGEST), "u", "r").password), LONGEST)
        for bad in ("", "\n", "x" * (LONGEST + 1), "{", '{"username": 1, "password": "x"}'):
            self.assertRaises(BmcRefusal, credential, Secret(bad), "u", "r")

    @given(st.text())
    def test_whatever_it_holds(self, junk: str) -> None:
        """A credential, or BmcRefusal that says nothing of it."""
        try:
            credential(Secret(junk), "u", "ref")
        except BmcRefusal as e:
            self.assertIn("secret ref: ", str(e))


class HostsTests(SynchronousTestCase):
    def test_hosts_of_addresses(self) -> None:
        """One spelling for each; what names no host is none."""
        for address, host in (
            ("BMC.Example.:443", "bmc.example"),
            ("10.0.0.9", "10.0.0.9"),
            ("10.0.0.9:8443", "10.0.0.9"),
            ("[FE80::1]:443", "fe80::1"),
            ("fe80:0::1", "fe80::1"),
            ("slot 3", None),
            ("a:b:c", None),
            ("", None),
            ("http://x", None),
            ("a..b", None),
            (".a", None),
            ("x" * 64, None),
            ("x" * 63 + ".y", "x" * 63 + ".y"),
            ("a." * 127 + "b", None),
        ):
            self.assertEqual(host_of(address), host, address)

    def test_within_what_a_driver_calls_an_address(self) -> None:
        """A BMC is one, whatever stands around its host."""
        for address, host in (
            ("10.0.0.9:8443", "10.0.0.9"),
            ("https://BMC.example/redfish", "bmc.example"),
            ("lanplus://root@10.0.0.9:623", "10.0.0.9"),
            ("root@[fd00:0::9]:22/slot/3", "fd00::9"),
            ("//10.0.0.9?x", "10.0.0.9"),
            ("slot 3", None),
            ("", None),
        ):
            self.assertEqual(host_within(address), host, address)

    def test_in_urls(self) -> None:
        """IPv6 in brackets, ports that there are."""
        self.assertEqual(authority("fe80::1"), "[fe80::1]")
        self.assertEqual(authority("[fe80::1]:44"), "[fe80::1]:44")
        self.assertEqual(authority("h:65535"), "h:65535")
        for bad in ("h:65536", "h:0", "u@h", "h/x", "h?x", "a b", ""):
            self.assertRaises(ValueError, authority, bad)

    @given(st.text())
    def test_whatever_it_is_called(self, junk: str) -> None:
        """A host or none; nothing is raised."""
        host_of(junk)
        host_within(junk)

    def test_what_a_name_had(self) -> None:
        """Earlier addresses stay: a request to them would still be one to a BMC."""
        hosts = Hosts().with_("b", ["10.0.0.1"]).with_("b", ["10.0.0.2"])
        self.assertEqual(set(hosts.known), {"b", "10.0.0.1", "10.0.0.2"})
        self.assertIs(hosts.with_("b", ["10.0.0.1"]), hosts)

    def test_the_bounds(self) -> None:
        """So many addresses of a host, and so many hosts: what was there first goes."""
        many = [f"10.0.0.{n}" for n in range(ADDRESSES + 1)]
        hosts = Hosts().with_("b", many[:-1]).with_("b", many[-1:])
        self.assertEqual(set(hosts.known), {"b", *many[1:]})
        for number in range(MOST):
            hosts = Hosts((*hosts.hosts,)).with_(f"h{number}", [])
        self.assertEqual(len(hosts.hosts), MOST)
        self.assertNotIn("b", hosts)


class KnownHostsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.directory = MemoryDirectory()
        self.addresses: dict[str, list[str]] = {"bmc": ["10.0.0.1"]}

    def known(self) -> KnownHosts:
        async def resolve(host: str) -> list[str]:
            return self.addresses.get(host, [])

        made = KnownHosts(self.directory, MemoryWorkers(), resolve, lambda: NOW)
        made.open()
        return made

    def remember(self, known: KnownHosts, address: str) -> None:
        self.successResultOf(Deferred.fromCoroutine(known.remember(address)))

    def test_over_a_restart(self) -> None:
        """With every address that a name ever had."""
        self.remember(self.known(), "bmc:443")
        self.addresses["bmc"] = ["10.0.0.2"]
        self.remember(self.known(), "BMC")
        self.remember(self.known(), "slot 3")
        self.assertEqual(set(self.known().known()), {"bmc", "10.0.0.1", "10.0.0.2"})

    def test_a_damaged_file(self) -> None:
        """Is set aside, and begun anew."""
        for junk in (b"{", b'{"hosts": [{"host": 1}]}', b"[]"):
            self.directory.files[HOSTS] = junk
            self.assertEqual(set(self.known().known()), set())
            self.assertNotIn(HOSTS, self.directory.files)

    def test_as_many_as_there_may_be(self) -> None:
        """Are read again: the file is no larger than a document may be."""
        hosts = Hosts()
        for number in range(MOST):
            host = f"{number:04}." + "h" * 200
            addresses = [f"fe80:ffff:ffff:ffff:ffff:ffff:ffff:{n:04x}" for n in range(ADDRESSES)]
            hosts = Hosts((*hosts.hosts, *Hosts().with_(host, addresses).hosts))
        self.directory.files[HOSTS] = rendered(hosts)
        known = self.known()
        self.assertIn("0000." + "h" * 200, known.known())
        with capturedLogs() as events:
            self.remember(known, "bmc")
        self.assertIn("takes the place of", str(events[0]["log_format"]))

    def test_a_full_disk(self) -> None:
        """It is known until the agent ends; that it is no longer then, is said."""
        known = self.known()
        self.directory.error = OSError(28, "No space left on device")
        with capturedLogs() as events:
            self.remember(known, "bmc")
        self.assertIn("bmc", known.known())
        self.assertEqual(events[0]["reason"], "No space left on device")
        self.assertEqual(json.loads(json.dumps(sorted(known.known()))), ["10.0.0.1", "bmc"])
