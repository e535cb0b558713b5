"""What BMCs in the field do (W200-W249, R49-R56), over TLS, and what our driver makes of it."""

from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import Final

from hyperlink import DecodedURL
from twisted.internet import reactor as global_reactor
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTCP, IReactorTime
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.tcp import Port
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.trial.unittest import TestCase

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.queue import Queues
from rescriptum.bmc.redfish.driver import RedfishDriver
from rescriptum.bmc.trust import Trust
from rescriptum.contract.bmc import (
    BMC_CODES,
    OPERATIONS,
    BmcRefusal,
    BootTarget,
    InsertMedia,
    Nothing,
    PowerAction,
    SetOverride,
    SetPower,
    UpdateFirmware,
)
from rescriptum.fakebmc.protocol import SelfSigned
from rescriptum.fakebmc.state import MACS, SERIAL
from rescriptum.fakebmc.switches import Switches
from rescriptum.testing import FakeBMC, Switch
from rescriptum.values import Secret

from ..bmccases import FIRMWARE, IMAGE, NEW, ROUND, Asking, round_of, steps_for
from ..processes import free_port


def _every(code: str, switch: Switch, *but: str) -> Mapping[str, str]:
    """:returns: the same for every step of the switch, but for some."""
    steps = (*steps_for(switch), "rotate", "status after")
    return {each: code for each in steps if each not in but}


#: What does not go well with a switch, and by which code; with the others everything does.
EXPECTED: Final[Mapping[Switch, Mapping[str, str]]] = {
    # Firmware belongs to no system in particular, and a password neither.
    Switch.TWO_SYSTEMS: _every(
        "invalid-config", Switch.TWO_SYSTEMS, "firmware", "update", "rotate"
    ),
    Switch.ETAG_NEVER: {"override": "conflict", "rotate": "conflict"},
    Switch.MODE_READ_ONLY: {"bios": "failed"},
    Switch.NO_CONTINUOUS: {"for ever": "unsupported-operation"},
    Switch.CONTINUOUS_FORGOTTEN: {"for ever": "failed"},
    Switch.CONFIG_JOB: {"override": "conflict"},
    Switch.NO_HTTP_BOOT: {"by http": "unsupported-operation"},
    Switch.NO_NMI: {"nmi": "unsupported-operation"},
    Switch.NO_UPDATE: {"update": "unsupported-operation"},
    Switch.TASK_CRITICAL: {"update": "failed"},
    Switch.TASK_STUCK: {"update": "timeout"},
    Switch.PASSWORD_KEPT: {"rotate": "failed"},
    Switch.NO_LOGIN_RIGHT: {"status after": "refused"},
    Switch.CHANGE_REQUIRED: {"status": "auth-failed"},
    Switch.HANG: _every("timeout", Switch.HANG),
    Switch.HUGE: _every("bad-response", Switch.HUGE, "rotate"),
    Switch.CUT: _every("bad-response", Switch.CUT, "rotate"),
    Switch.GARBAGE: _every("bad-response", Switch.GARBAGE, "rotate"),
    Switch.DEEP: _every("bad-response", Switch.DEEP, "rotate"),
    Switch.WRONG_TYPES: {"override": "failed", "on": "timeout"},
    Switch.ALWAYS_401: _every("auth-failed", Switch.ALWAYS_401),
    Switch.ECHO: {"rotate": "refused"},
    Switch.REDIRECT_HOST: _every("bad-response", Switch.REDIRECT_HOST),
    Switch.REDIRECT_HTTP: _every("bad-response", Switch.REDIRECT_HTTP),
    Switch.REDIRECT_PATH: _every("bad-response", Switch.REDIRECT_PATH),
    Switch.REDIRECT_LOOP: _every("bad-response", Switch.REDIRECT_LOOP),
}


class Cases(TestCase):
    """Closes what a test has asked."""

    def asking(self, *switches: Switch, elsewhere: str = "", system: str = "") -> Asking:
        more = {"elsewhere": elsewhere} if elsewhere else {}
        made = Asking.of(*switches, system=system, **more)
        self.addCleanup(lambda: Deferred.fromCoroutine(made.close()))
        return made

    def left(self, asking: Asking) -> None:
        """No session is left, there never were two, and no text has a secret."""
        self.assertEqual(asking.bmc.state.sessions, ())
        self.assertLessEqual(asking.bmc.most_sessions, 1)
        for secret in (asking.bmc.password, NEW):
            self.assertNotIn(secret, asking.told)


class SwitchTests(Cases):
    """One test for each switch; made below."""

    async def shown(self, switch: Switch) -> None:
        asking = self.asking(switch)
        codes = await round_of(asking, steps_for(switch))
        self.assertEqual(codes, dict(EXPECTED.get(switch, {})), asking.told)
        self.left(asking)

    def test_every_step_is_one(self) -> None:
        """What is expected is expected of steps that are taken, by codes that there are."""
        for switch, codes in EXPECTED.items():
            self.assertLessEqual(set(codes), {*steps_for(switch), "rotate", "status after"})
            self.assertLessEqual(set(codes.values()), set(BMC_CODES))


def _test_of(switch: Switch) -> Callable[[SwitchTests], Coroutine[Deferred[None], object, None]]:
    async def test(self: SwitchTests) -> None:
        await self.shown(switch)

    test.__doc__ = f"A BMC that {switch.does}: everything works, or has its code."
    return test


for _each in Switch:
    setattr(SwitchTests, f"test_{_each.word.replace('-', '_')}", _test_of(_each))


class PlainTests(Cases):
    async def test_everything_is_done(self) -> None:
        """On a BMC without manners every operation has its effect, not only a good answer."""
        asking = self.asking()
        bmc = asking.bmc
        for action, on in ((PowerAction.ON, True), (PowerAction.OFF, False)):
            self.assertEqual(await asking.ask("power.setPower", SetPower(action)), "ok")
            self.assertEqual(bmc.state.power.goal, on)
        await asking.ask("boot.setOverride", SetOverride(BootTarget.HTTP, url=IMAGE))
        override = bmc.state.override
        self.assertEqual((override.target, override.uri), ("UefiHttp", IMAGE))
        await asking.ask("power.setPower", SetPower(PowerAction.ON))
        self.assertEqual(bmc.state.override.enabled, "Disabled", "used up by the boot (W223)")
        await asking.ask("media.insert", InsertMedia(IMAGE))
        self.assertEqual(bmc.state.media, IMAGE)
        await asking.ask("media.eject")
        self.assertEqual(bmc.state.media, "")
        await asking.ask("inventory.get")
        self.assertIn(SERIAL, str(asking.data))
        for mac in MACS:
            self.assertIn(mac, str(asking.data).lower())
        await asking.ask("management.getSelLog")
        self.assertIn("ForceOff", str(asking.data))
        await asking.ask("firmware.list")
        self.assertIn("1.1", str(asking.data))
        await asking.ask("firmware.update", UpdateFirmware("0" * 64, FIRMWARE))
        self.assertEqual(bmc.state.firmware, 2)
        self.assertEqual(await asking.rotate(NEW), "ok")
        self.assertTrue(bmc.state.accounts[0].password.matches(NEW))
        self.assertEqual(await asking.ask("management.reset"), "ok")
        self.assertEqual(bmc.state.log[-1], "The BMC was reset")
        self.assertNotIn(" failed ", asking.told)
        self.left(asking)

    async def test_one_system_of_several_is_named(self) -> None:
        """By its id (W200)."""
        asking = self.asking(Switch.TWO_SYSTEMS, Switch.ODD_IDS, system="System.Embedded.1")
        self.assertEqual(await asking.ask("power.setPower", SetPower(PowerAction.ON)), "ok")
        self.assertTrue(asking.bmc.state.power.goal)

    async def test_a_wrong_password_is_tried_once(self) -> None:
        """The third would lock the account (W246)."""
        asking = self.asking(Switch.LOCKS_OUT)
        wrong = Credential("admin", Secret("wrong"))
        code = await asking.ask("power.getPower", credential=wrong)
        self.assertEqual(code, "auth-failed")
        self.assertEqual(asking.bmc.state.accounts[0].wrong, 1)
        self.assertEqual(await asking.ask("power.getPower"), "ok")

    async def test_a_profile_is_read_of_every_bmc(self) -> None:
        """``probe`` changes nothing, and leaves no session."""
        for switches in ((), (Switch.ODD_IDS, Switch.MEDIA_IN_SYSTEM, Switch.NO_SESSIONS)):
            asking = self.asking(*switches)
            before = asking.bmc.state
            profile = await asking.driver.probe(asking.credential)
            self.assertEqual(profile.vendor, "rescriptum")
            self.assertIn("1" if not switches else "System.Embedded.1", profile.system)
            self.assertEqual(asking.bmc.state.version, before.version)
            self.left(asking)


class RedirectTests(Cases):
    """R49."""

    async def test_the_slash_is_followed_once(self) -> None:
        """``/redfish/v1`` to ``/redfish/v1/``, and a login to the same with a slash (W202)."""
        asking = self.asking(Switch.SLASH, Switch.SESSIONS_SLASH)
        self.assertEqual(await asking.ask("power.getPower"), "ok")
        looped = self.asking(Switch.REDIRECT_LOOP)
        self.assertEqual(await looped.ask("power.getPower"), "bad-response")
        self.assertLessEqual(len(looped.bmc.heard), 2)

    async def test_nothing_is_sent_elsewhere(self) -> None:
        """
        Another host has no connection, http none either, and whoever redirects to them has been
        told no password.
        """
        other = self.asking()
        for switch in (Switch.REDIRECT_HOST, Switch.REDIRECT_HTTP, Switch.REDIRECT_PATH):
            asking = self.asking(switch, elsewhere=other.bmc.url)
            self.assertEqual(await asking.ask("power.getPower"), "bad-response")
            self.assertEqual([each.path for each in asking.bmc.heard], ["/redfish/v1/"])
            self.assertFalse(asking.bmc.heard[0].secret)
            self.assertEqual(asking.bmc.connections, 1)
        self.assertEqual(other.bmc.connections, 0)


class ETagTests(Cases):
    """R50."""

    async def test_a_change_takes_four_tries_at_most(self) -> None:
        """Whatever the BMC wants of ``If-Match``; and the next change knows it."""
        for switch in Switch:
            if not switch.quirk or not 213 <= int(switch.quirk[1:]) <= 217:
                continue
            asking = self.asking(switch)
            code = await asking.ask("boot.setOverride", SetOverride(BootTarget.PXE))
            never = switch is Switch.ETAG_NEVER
            self.assertEqual(code, "conflict" if never else "ok", switch)
            tried = asking.sent("PATCH")
            self.assertLessEqual(tried, 4, switch)
            self.assertEqual(await asking.ask("boot.getOverride"), "ok")
            if never or switch is Switch.ETAG_EMPTY:
                continue
            await asking.ask("boot.setOverride", SetOverride(BootTarget.HDD))
            self.assertEqual(asking.sent("PATCH"), tried + 1, switch)


class ResetTests(Cases):
    """R52."""

    async def test_what_is_not_allowed_is_done_otherwise_and_said(self) -> None:
        asking = self.asking(Switch.NO_FORCE_RESTART, Switch.NO_POWER_CYCLE)
        await asking.ask("power.setPower", SetPower(PowerAction.ON))
        self.assertEqual(await asking.ask("power.setPower", SetPower(PowerAction.RESET)), "ok")
        self.assertEqual(asking.data["done"], ["ForceOff", "On"])
        self.assertIs(asking.data["degraded"], True)

    async def test_an_action_info_is_read(self) -> None:
        """Where the system itself lists nothing."""
        asking = self.asking(Switch.ACTION_INFO, Switch.NO_NMI)
        code = await asking.ask("power.setPower", SetPower(PowerAction.NMI))
        self.assertEqual(code, "unsupported-operation")
        self.assertTrue(any("ResetActionInfo" in each.path for each in asking.bmc.heard))

    async def test_on_when_on_is_done(self) -> None:
        """Where the BMC says 409 (W227)."""
        asking = self.asking(Switch.SAME_STATE)
        for _ in range(2):
            self.assertEqual(await asking.ask("power.setPower", SetPower(PowerAction.ON)), "ok")


class SessionTests(Cases):
    """R53."""

    async def test_fifty_operations_hold_one_session_at_most(self) -> None:
        """Some fail midway, one BMC forgets sessions, and in the end none is open."""
        asking = self.asking(
            Switch.SESSION_EXPIRES,
            Switch.EJECT_ERROR,
            Switch.TASK_CRITICAL,
            Switch.IN_POST,
            Switch.NO_NMI,
            Switch.NO_HTTP_BOOT,
        )
        codes: list[str] = []
        steps = ("eject", "on", "insert", "insert", "update", "override", "nmi", "by http")
        while len(codes) < 50:
            name, args = ROUND[steps[len(codes) % len(steps)]]
            codes.append(await asking.ask(name, args))
            self.assertEqual(asking.bmc.state.sessions, ())
        self.assertGreater(sum(each != "ok" for each in codes), 10)
        self.assertGreater(codes.count("ok"), 10)
        self.left(asking)

    async def test_full_slots_are_waited_for(self) -> None:
        """503 RAC0218 twice, then a session (W204)."""
        asking = self.asking(Switch.SLOTS_TAKEN)
        self.assertEqual(await asking.ask("power.getPower"), "ok")
        self.assertGreater(asking.hurried.seconds(), 1)
        self.assertEqual(asking.bmc.most_sessions, 1)

    async def test_who_is_cancelled_leaves_no_session(self) -> None:
        """In the middle of a change that takes its time."""
        asking = self.asking(Switch.POWER_LAGS)
        arguments = OPERATIONS["power.setPower"], SetPower(PowerAction.ON), asking.credential
        working = Deferred.fromCoroutine(asking.driver.run(Asked(*arguments, seconds=60)))
        while not asking.bmc.state.power.goal:
            await _turn()
        self.assertEqual(len(asking.bmc.state.sessions), 1)
        working.cancel()
        await self.assertFailure(working, CancelledError, BmcRefusal)
        while asking.bmc.state.sessions:
            await _turn()
        self.left(asking)


class TaskTests(Cases):
    """R54."""

    async def test_the_four_shapes(self) -> None:
        """A Location; the body alone; nothing at all; a Location of another host."""
        shapes = {(): "task", (Switch.TASK_BODY,): "task", (Switch.TASK_FOREIGN,): "task"}
        shapes |= {(Switch.TASK_NONE,): "version", (Switch.TASK_VANISHES,): "version"}
        other = self.asking()
        for switches, confirmed in shapes.items():
            asking = self.asking(*switches, elsewhere=other.bmc.url)
            code = await asking.ask("firmware.update", UpdateFirmware("0" * 64, FIRMWARE))
            self.assertEqual(code, "ok", switches)
            self.assertEqual(asking.data["confirmed"], confirmed, switches)
            self.assertEqual(asking.bmc.state.firmware, 2)
        self.assertEqual(other.bmc.connections, 0)

    async def test_a_task_without_an_end_costs_its_time(self) -> None:
        """And the code says that nobody knows (W240)."""
        asking = self.asking(Switch.TASK_STUCK)
        code = await asking.ask("firmware.update", UpdateFirmware("0" * 64, FIRMWARE), 45)
        self.assertEqual(code, "timeout")
        self.assertLessEqual(asking.hurried.seconds(), 45)
        self.left(asking)


class PasswordTests(Cases):
    """R56."""

    async def test_the_new_password_is_proved(self) -> None:
        """By a login of its own, though sessions of the old one live on (W242, W247)."""
        for switches in ((), (Switch.OLD_SESSIONS,), (Switch.NO_SESSIONS,)):
            asking = self.asking(*switches)
            self.assertEqual(await asking.rotate(NEW), "ok")
            self.assertEqual(asking.data, {"verified": True})

    async def test_a_yes_that_was_none_is_found_out(self) -> None:
        """200, and the old password holds."""
        asking = self.asking(Switch.PASSWORD_KEPT)
        self.assertEqual(await asking.rotate(NEW), "failed")
        self.assertIn("old password", str(asking.data["detail"]))

    async def test_a_factory_password_is_changed_where_the_bmc_says(self) -> None:
        """403 for everything else (W244)."""
        asking = self.asking(Switch.CHANGE_REQUIRED, Switch.ACCOUNTS_IN_MANAGER)
        self.assertEqual(await asking.ask("power.getPower"), "auth-failed")
        self.assertEqual(await asking.rotate(NEW), "ok")
        self.assertEqual(await asking.ask("power.getPower"), "ok")

    async def test_a_dropped_connection_is_looked_into(self) -> None:
        """It was done all the same."""
        asking = self.asking(Switch.PASSWORD_DROPS)
        self.assertEqual(await asking.rotate(NEW), "ok")
        self.assertTrue(asking.bmc.state.accounts[0].password.matches(NEW))

    async def test_a_refused_password_is_not_repeated(self) -> None:
        """Not by a BMC that repeats it, nor by its rules (W246)."""
        asking = self.asking(Switch.PASSWORD_RULES, Switch.ECHO)
        self.assertEqual(await asking.rotate("short"), "refused")
        self.assertNotIn("short", asking.told)
        self.assertEqual(await asking.rotate(NEW), "refused")
        self.left(asking)


class _Noise(Protocol):
    """Says what is no HTTP to whatever it hears."""

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(b"\x15\x03\x03\x00\x02\x02\x28 220 ftp.example ready\r\n\0")


class RudeTests(Cases):
    def serving(self, factory: Factory[Protocol] | TLSMemoryBIOFactory) -> int:
        """:returns: the port."""
        port = Port(0, factory, interface="127.0.0.1", reactor=global_reactor)
        port.startListening()
        self.addCleanup(port.stopListening)
        return int(port.getHost().port)

    async def code_of(self, port: int, pin: str) -> str:
        url = DecodedURL.from_text(f"https://127.0.0.1:{port}")
        driver = RedfishDriver(IReactorTime(global_reactor), url, Trust.by_pin(pin))
        asked = Asked(OPERATIONS["power.getPower"], Nothing(), Credential("admin", Secret("x")))
        try:
            await driver.run(asked)
        except BmcRefusal as e:
            return e.code
        return "ok"

    async def test_what_is_no_http(self) -> None:
        """After a good handshake."""
        shown = SelfSigned(Switches(), datetime.now(UTC))
        factory = TLSMemoryBIOFactory(shown, False, Factory.forProtocol(_Noise))
        port = self.serving(factory)
        self.assertEqual(await self.code_of(port, shown.pin), "bad-response")

    async def test_what_is_no_tls(self) -> None:
        """And a port at which nobody is."""
        pin = SelfSigned(Switches(), datetime.now(UTC)).pin
        self.assertEqual(
            await self.code_of(self.serving(Factory.forProtocol(_Noise)), pin), "tls-error"
        )
        self.assertEqual(await self.code_of(free_port(), pin), "unreachable")

    async def test_another_key_is_told_nothing(self) -> None:
        """A pin is of the key; old TLS needs its name."""
        for switch, trusted, code in (
            (Switch.ODD_IDS, False, "pin-mismatch"),
            (Switch.OLD_TLS, True, "tls-error"),
        ):
            bmc = FakeBMC(IReactorTCP(global_reactor), switch)
            bmc.startService()
            self.addCleanup(bmc.stopService)
            pin = bmc.pin if trusted else SelfSigned(Switches(), datetime.now(UTC)).pin
            url = DecodedURL.from_text(bmc.url)
            driver = RedfishDriver(IReactorTime(global_reactor), url, Trust.by_pin(pin))
            credential = Credential(bmc.username, Secret(bmc.password))
            asked = Asked(OPERATIONS["power.getPower"], Nothing(), credential)
            with self.assertRaises(BmcRefusal) as raised:
                await driver.run(asked)
            self.assertEqual(raised.exception.code, code)
            self.assertEqual(bmc.heard, ())

    async def test_who_hangs_costs_nobody_else_anything(self) -> None:
        """
        An operation on a BMC that does not answer is over in its time; one on another BMC does
        not wait for it, nor for any time to pass.
        """
        hanging, good = self.asking(Switch.HANG), self.asking()
        queues = Queues(IReactorTime(good.hurried))

        async def ask(asking: Asking) -> str:
            work: Callable[[], Coroutine[Deferred[object], object, str]]
            work = lambda: asking.ask("power.getPower", seconds=30)  # noqa: E731
            return await queues.run(asking.bmc.address, work)

        stuck = [Deferred.fromCoroutine(ask(hanging)) for _ in range(2)]
        self.assertEqual(await ask(good), "ok")
        self.assertEqual(good.hurried.seconds(), 0)
        self.assertEqual([await each for each in stuck], ["timeout", "timeout"])
        self.assertLessEqual(hanging.hurried.seconds(), 60)

    async def test_a_weak_bmc_is_asked_one_thing_at_a_time(self) -> None:
        """However many want something of it (W249)."""
        asking = self.asking(Switch.WEAK)
        queues = Queues(IReactorTime(asking.hurried))
        work = [
            Deferred.fromCoroutine(queues.run("bmc", lambda: asking.ask("power.getPower")))
            for _ in range(4)
        ]
        self.assertEqual([await each for each in work], ["ok"] * 4)
        self.assertEqual(asking.bmc.crowded, 0)
        self.assertGreaterEqual(asking.hurried.seconds(), 15)


def _turn() -> Deferred[None]:
    done: Deferred[None] = Deferred()
    IReactorTime(global_reactor).callLater(0.001, done.callback, None)
    return done
