"""THE table of what each workflow does to a machine."""

from collections.abc import Callable, Mapping
from typing import Final

from ..contract.bmc import OPERATIONS
from ..contract.kinds import KINDS
from ..contract.ramdisk import Diagnose
from ..contract.structure import JSON
from .interlock import WIPE_SECONDS
from .workflows import STEP_SECONDS, Facts, Order, Step, WorkflowKind

#: For how long an image may be written: it is as much as the ramdisk's agent takes.
IMAGE_SECONDS: Final = 2 * 3600
#: For how long a boot entry lives that nobody takes back: its machine reads the image under it, and
#: a thorough wipe comes before that. Its join token has no longer life.
ENTRY_SECONDS: Final = WIPE_SECONDS + IMAGE_SECONDS + 4 * STEP_SECONDS
#: For how long parts of a machine may be tried out: it is as much as the ramdisk's agent takes.
DIAGNOSE_SECONDS: Final = 5 * 3600


def token_ref(workflow: str) -> str:
    """:returns: the secret that holds the join token of this workflow's ramdisk."""
    return f"join-{workflow}"


def _text(facts: Facts, name: str, default: str = "") -> str:
    return str(facts.parameters.get(name, default))


def _prepare(facts: Facts) -> Order | None:
    if not facts.boot_node:
        return None
    reference = token_ref(facts.workflow)
    payload: JSON = {
        "mac": facts.subject.macs[0],
        "kind": "ramdisk",
        "workflow": facts.workflow,
        "token_ref": reference,
        "uuid": facts.subject.uuid,
        "cmdline": _text(facts, "cmdline"),
        "epoch": facts.epoch,
        "not_after": facts.now + ENTRY_SECONDS,
    }
    return Order(facts.boot_node, "boot.prepareRamdisk", payload, (reference,), facts.epoch)


def _clear(prepared: Order) -> Order:
    """
    Not as soon as the ramdisk has joined: what it may read of the site's cache goes with the entry.
    A machine that restarts before the end comes into the ramdisk again, whose token is used up, and
    not onto a disk that is half written.
    """
    payload: JSON = {name: prepared.payload[name] for name in ("mac", "workflow")}
    return Order(prepared.node, "boot.clear", payload, seconds=ENTRY_SECONDS)


def _bmc(kind: str, operation: str, arguments: Callable[[Facts], JSON]) -> Step:
    concern = OPERATIONS[operation].concern

    def driver(facts: Facts) -> str:
        return facts.subject.bmc_driver

    def refuses(facts: Facts) -> str:
        # Agents that are away still host what their last Hello said.
        if not facts.agents or any(each.asks(driver(facts), concern) for each in facts.agents):
            return ""
        site = facts.subject.site
        return f"unsupported-driver: no site agent of {site} hosts {driver(facts)} for {concern}"

    def order(facts: Facts) -> Order | None:
        subject = facts.subject
        able = (each for each in facts.agents if each.there and each.asks(driver(facts), concern))
        agent = next(able, None)
        if agent is None:
            return None
        payload: JSON = {
            "operation": operation,
            "address": subject.bmc_address,
            "driver": subject.bmc_driver,
            "pin": subject.bmc_pin,
            "options": {},
            "credential_ref": subject.credential_ref,
            "username": subject.bmc_username,
            "args": arguments(facts),
            "timeout_s": 300,
        }
        refs = (subject.credential_ref,) if subject.credential_ref else ()
        return Order(agent.node, kind, payload, refs)

    return Step(
        operation,
        wanted=lambda facts: bool(facts.subject.bmc_address),
        order=order,
        refuses=refuses,
        waits_for="a site agent",
        needs_bmc=True,
    )


def _on_ramdisk(
    kind: str,
    payload: Callable[[Facts], JSON],
    *,
    refs: Callable[[Facts], tuple[str, ...]] = lambda facts: (),
    wanted: Callable[[Facts], bool] = lambda facts: True,
    seconds: int = STEP_SECONDS,
) -> Step:
    def order(facts: Facts) -> Order | None:
        if not facts.ramdisk:
            return None
        made = payload(facts)
        return Order(facts.ramdisk, kind, made, refs(facts), seconds=seconds)

    return Step(
        kind,
        wanted=wanted,
        order=order,
        destructive=KINDS[kind].destructive,
        waits_for="the ramdisk",
        seconds=seconds,
    )


def _seeds(facts: Facts) -> tuple[str, ...]:
    reference = _text(facts, "user_data_ref")
    return (reference,) if reference else ()


_BOOT: Final = (
    Step(
        "boot.prepareRamdisk",
        order=_prepare,
        waits_for="a site agent with the boot lease",
        undo=_clear,
    ),
    _bmc("bmc.boot", "boot.setOverride", lambda _: {"target": "pxe", "once": True}),
    _bmc("bmc.power", "power.setPower", lambda _: {"action": "cycle"}),
    Step(
        "joined",
        until=lambda facts: bool(facts.ramdisk),
        waits_for="the machine's ramdisk to join",
        seconds=2 * STEP_SECONDS,
    ),
)
_WIPE: Final = _on_ramdisk(
    "disk.wipe",
    lambda facts: {
        "mode": _text(facts, "wipe", "quick"),
        "disks": facts.parameters.get("disks", []),
    },
    seconds=WIPE_SECONDS,
)

#: THE table: what each workflow does.
WORKFLOWS: Final[Mapping[WorkflowKind, tuple[Step, ...]]] = {
    WorkflowKind.DEPLOY: (
        *_BOOT,
        _WIPE,
        _on_ramdisk(
            "image.write",
            lambda facts: {
                "sha256": _text(facts, "sha256"),
                "url": _text(facts, "url"),
                "format": _text(facts, "format", "raw"),
                "root_disk": facts.parameters.get("root_disk", {}),
            },
            seconds=IMAGE_SECONDS,
        ),
        _on_ramdisk(
            "seed.write",
            lambda facts: {
                "kind": _text(facts, "seed", "nocloud"),
                "user_data_ref": _text(facts, "user_data_ref"),
            },
            refs=_seeds,
            wanted=lambda facts: bool(_seeds(facts)),
        ),
        _on_ramdisk(
            "boot.kexec",
            lambda facts: {
                "args": _text(facts, "args"),
                "reboot": facts.parameters.get("reboot", False),
            },
        ),
        Step(
            "installed",
            wanted=lambda facts: bool(facts.parameters.get("expect_node", False)),
            until=lambda facts: facts.installed,
            waits_for="the installed operating system to join",
        ),
    ),
    WorkflowKind.INSPECT: (
        *_BOOT,
        _on_ramdisk("inventory.collect", lambda _: {}),
        _on_ramdisk(
            "diagnostics.run",
            lambda facts: {
                "tests": facts.parameters.get("diagnose", []),
                "seconds": facts.parameters.get("seconds", Diagnose().seconds),
            },
            wanted=lambda facts: "diagnose" in facts.parameters,
            seconds=DIAGNOSE_SECONDS,
        ),
        _on_ramdisk("power.off", lambda _: {}),
    ),
    WorkflowKind.WIPE: (*_BOOT, _WIPE, _on_ramdisk("power.off", lambda _: {})),
    WorkflowKind.POWER: (
        _bmc("bmc.power", "power.setPower", lambda facts: {"action": _text(facts, "action")}),
    ),
    WorkflowKind.FIRMWARE: (
        _bmc(
            "bmc.firmware",
            "firmware.update",
            lambda facts: {
                "sha256": _text(facts, "sha256"),
                "url": _text(facts, "url"),
                "targets": facts.parameters.get("targets", []),
            },
        ),
    ),
}
