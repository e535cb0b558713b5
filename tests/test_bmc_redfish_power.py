"""Tests for ``rescriptum.bmc.redfish.power`` and ``resets``."""

from rescriptum.bmc.redfish.patience import WAITS
from rescriptum.bmc.redfish.replies import Ask, Dropped, Reply
from rescriptum.bmc.redfish.resets import WAYS, resetting, state_of, way
from rescriptum.contract.bmc import BmcRefusal, PowerAction, PowerState, SetPower

from .redfishcases import BASE, RESET, SYSTEM, RedfishCase, linked, reply, said

ON, OFF = SetPower(PowerAction.ON), SetPower(PowerAction.OFF)
SOFT, CYCLE = SetPower(PowerAction.SOFT_OFF), SetPower(PowerAction.CYCLE)


class StateTests(RedfishCase):
    def test_each_state_is_on_off_or_unknown(self) -> None:
        """A machine on its way is where it comes from; ``Reset``, null and none are unknown."""
        for spelt, state in (
            ("On", PowerState.ON),
            ("PoweringOff", PowerState.ON),
            ("Off", PowerState.OFF),
            ("PoweringOn", PowerState.OFF),
            ("Reset", PowerState.UNKNOWN),
            ("Paused", PowerState.UNKNOWN),
            (None, PowerState.UNKNOWN),
            (["On"], PowerState.UNKNOWN),
        ):
            self.assertEqual(state_of({"PowerState": spelt}), state)
        self.assertEqual(state_of({}), PowerState.UNKNOWN)

    def test_it_is_read(self) -> None:
        self.bmc.system["PowerState"] = "PoweringOff"
        self.assertEqual(self.run_operation("power.getPower"), {"power": "on"})


class WayTests(RedfishCase):
    def test_every_action_has_a_way(self) -> None:
        self.assertEqual(set(WAYS), set(PowerAction))

    def test_the_first_that_is_allowed(self) -> None:
        for action, allowed, expected in (
            (PowerAction.CYCLE, ("PowerCycle", "ForceOff", "On"), ("PowerCycle",)),
            (PowerAction.CYCLE, ("ForceOff", "On"), ("ForceOff", "On")),
            (PowerAction.RESET, ("PowerCycle",), ("PowerCycle",)),
            (PowerAction.RESET, ("On", "ForceOff"), ("ForceOff", "On")),
            (PowerAction.ON, ("ForceOn",), ("ForceOn",)),
            (PowerAction.CYCLE, None, ("PowerCycle",)),
        ):
            self.assertEqual(way(action, allowed), expected)

    def test_none_is_not_guessed(self) -> None:
        """Nothing stands in for a shutdown, and the refusal says what there is."""
        for action, allowed in (
            (PowerAction.SOFT_OFF, ("ForceOff", "On")),
            (PowerAction.NMI, ("On",)),
            (PowerAction.CYCLE, ("On",)),
            (PowerAction.ON, ()),
        ):
            error = self.assertRaises(BmcRefusal, way, action, allowed)
            self.assertEqual(error.code, "unsupported-operation")
            self.assertIn(", ".join(allowed) or "nothing", error.detail)

    def test_a_system_without_actions_says_nothing(self) -> None:
        systems: tuple[dict[str, object], ...] = (
            {},
            {"Actions": None},
            {"Actions": {"#ComputerSystem.Reset": []}},
        )
        for system in systems:
            self.assertEqual(resetting(system).target, "")
            self.assertIsNone(resetting(system).allowed)


class SetPowerTests(RedfishCase):
    def test_on_and_off(self) -> None:
        self.assertEqual(self.run_operation("power.setPower", ON), {"power": "on", "done": ["On"]})
        outcome = self.run_operation("power.setPower", OFF)
        self.assertEqual(outcome, {"power": "off", "done": ["ForceOff"]})
        self.assertEqual(self.bmc.resets(), ["On", "ForceOff"])

    def test_what_holds_is_done(self) -> None:
        """A machine that is on is not asked to be (W227)."""
        for state, args in (("On", ON), ("Off", OFF), ("Off", SOFT)):
            self.bmc.system["PowerState"] = state
            self.assertEqual(self.run_operation("power.setPower", args)["done"], [])
        self.assertEqual(self.bmc.resets(), [])

    def test_a_no_to_what_holds_by_then(self) -> None:
        """409 for ``On`` while it is on is success: it came on between (W227, R52)."""

        def no(_: Ask) -> Reply:
            self.bmc.system["PowerState"] = "On"
            return reply(409, said("ActionParameterValueConflict", "already on"))

        self.bmc.doing[("POST", RESET)] = no
        self.assertEqual(self.run_operation("power.setPower", ON)["power"], "on")

    def test_a_no_is_a_no(self) -> None:
        for status, code in ((400, "refused"), (409, "conflict"), (403, "refused")):
            self.bmc.doing[("POST", RESET)] = [reply(status, said("GeneralError", "no way"))]
            error = self.refused("power.setPower", ON)
            self.assertEqual(error.code, code)
            self.assertIn("no way", error.detail)

    def test_a_cycle_by_two_steps_says_so(self) -> None:
        """Without ``PowerCycle``: off, wait until it is, on (R52)."""
        self.bmc.system["PowerState"] = "On"
        action = self.bmc.system["Actions"]["#ComputerSystem.Reset"]
        action["ResetType@Redfish.AllowableValues"] = ["On", "ForceOff"]
        outcome = self.run_operation("power.setPower", CYCLE)
        self.assertEqual(outcome, {"power": "on", "done": ["ForceOff", "On"], "degraded": True})

    def test_a_cycle_of_a_machine_that_is_off(self) -> None:
        self.assertEqual(self.run_operation("power.setPower", CYCLE)["done"], ["On"])

    def test_action_info_is_read(self) -> None:
        """Where the action itself does not list its values (R52), once a BMC."""
        info = f"{SYSTEM}/ResetActionInfo"
        self.bmc.system["Actions"]["#ComputerSystem.Reset"] = {
            "target": RESET,
            "@Redfish.ActionInfo": info,
        }
        self.bmc.documents[info] = {
            "Parameters": [
                {"Name": "Other", "AllowableValues": ["x"]},
                {"Name": "ResetType", "AllowableValues": ["ForceOn", "ForceOff"]},
            ]
        }
        self.assertEqual(self.run_operation("power.setPower", ON)["done"], ["ForceOn"])
        del self.bmc.documents[info]
        self.assertEqual(self.profile.resets, ("ForceOn", "ForceOff"))
        self.assertEqual(self.run_operation("power.setPower", OFF)["done"], ["ForceOff"])

    def test_power_lags(self) -> None:
        """It is looked at until it is there (W229)."""
        states = ["Off", "Off", "PoweringOn", None, "Reset", "On"]

        def lagging(_: Ask) -> Reply:
            state = states.pop(0) if len(states) > 1 else states[0]
            return reply(200, {**self.bmc.system, "PowerState": state})

        self.bmc.doing[("GET", SYSTEM)] = lagging
        self.bmc.doing[("POST", RESET)] = [reply(204)]
        self.assertEqual(self.run_operation("power.setPower", ON)["power"], "on")
        self.assertEqual(len(self.bmc.resets()), 1)

    def test_a_power_that_never_comes(self) -> None:
        """It ends before the operation's time does, and is not asked a second time."""
        self.bmc.doing[("POST", RESET)] = [reply(204)]
        began = self.bmc.time
        error = self.refused("power.setPower", ON, seconds=30)
        self.assertEqual(error.code, "timeout")
        self.assertIn("still off", error.detail)
        self.assertLess(self.bmc.time - began, 30)
        self.assertEqual(len(self.bmc.resets()), 1)

    def test_a_power_that_is_never_told(self) -> None:
        del self.bmc.system["PowerState"]
        self.bmc.doing[("POST", RESET)] = [reply(204)]
        self.assertEqual(self.run_operation("power.setPower", ON)["power"], "unknown")

    def test_a_self_test_is_waited_for(self) -> None:
        """Each vendor's way to say that the machine tests itself (W228)."""
        for status, document in (
            (400, said("InvalidOperationForSystemState")),
            (400, said("UnableToModifyDuringSystemPOST")),
            (409, {"error": {"@Message.ExtendedInfo": {"MessageId": "SYS518"}}}),
            (503, None),
        ):
            self.bmc.system["PowerState"] = "Off"
            busy = [reply(status, document), reply(status, document)]

            def then(ask: Ask, busy: list[Reply] = busy) -> Reply:
                return busy.pop() if busy else self.bmc.reset(ask)

            self.bmc.doing[("POST", RESET)] = then
            self.bmc.paused.clear()
            self.assertEqual(self.run_operation("power.setPower", ON)["power"], "on")
            self.assertEqual(self.bmc.paused[:2], [5, 10])

    def test_a_self_test_that_does_not_end(self) -> None:
        """Tries are bounded in number, and by the operation's time."""
        self.bmc.doing[("POST", RESET)] = [reply(503)]
        error = self.refused("power.setPower", ON, seconds=3000)
        self.assertEqual(error.code, "conflict")
        self.assertEqual(len(self.bmc.resets()), len(WAITS) + 1)
        began = self.bmc.time
        self.assertEqual(self.refused("power.setPower", ON, seconds=20).code, "conflict")
        self.assertLess(self.bmc.time - began, 20)
        self.bmc.paused.clear()
        self.assertEqual(self.refused("power.setPower", ON, seconds=11).code, "conflict")
        self.assertEqual(self.bmc.paused, [])  # a try at the very end could end as "timeout"

    def test_nobody_asks_twice_what_may_have_been_done(self) -> None:
        """A connection that breaks off after a write is no reason to write again."""
        self.bmc.doing[("POST", RESET)] = [Dropped("bad-response", "the answer broke off")]
        error = self.refused("power.setPower", ON)
        self.assertEqual(error.code, "timeout")
        self.assertIn("nobody knows", error.detail)
        self.assertEqual(len(self.bmc.resets()), 1)

    def test_nmi(self) -> None:
        self.bmc.system["PowerState"] = "On"
        outcome = self.run_operation("power.setPower", SetPower(PowerAction.NMI))
        self.assertEqual(outcome, {"power": "on", "done": ["Nmi"]})

    def test_several_systems_are_not_guessed_at(self) -> None:
        """One must be named, by its id or its path."""
        other = f"{BASE}/Systems/2"
        self.bmc.documents[f"{BASE}/Systems"]["Members"].append(linked(other))
        self.bmc.documents[other] = {"PowerState": "On"}
        error = self.refused("power.getPower")
        self.assertEqual(error.code, "invalid-config")
        self.assertIn("1, 2", error.detail)
        for name in ("2", other):
            self.profile = type(self.profile)()
            self.assertEqual(self.run_operation("power.getPower", system=name)["power"], "on")
        self.profile = type(self.profile)()
        self.assertEqual(self.refused("power.getPower", system="3").code, "not-found")

    def test_no_system_at_all(self) -> None:
        self.bmc.documents[f"{BASE}/Systems"] = {"Members": []}
        self.assertEqual(self.refused("power.getPower").code, "not-found")
