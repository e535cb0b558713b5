"""What installing a machine takes: whether it may begin, and how it is started."""

from enum import Enum
from typing import Final

from attrs import frozen

from ..boot.scripts import Unclaimed
from ..contract.bmc import PowerAction, PowerState
from ..errors import Refused


class Arms(Enum):
    """What would make a machine install itself at its next boot from the network."""

    ITSELF = "its own document"
    """``/installed`` puts it away."""
    FACTS = "a machine's document, by facts"
    GROUP = "a group's document"
    DEFAULT = "the default document"
    NOTHING = "nothing"


_NEVER: Final = (
    "nothing ever disarms that, so that it would install itself at every boot from the network;"
    " give the machine an ipxe document of its own"
)
_UNARMED: Final = {
    Unclaimed.MENU: "it would wait at the menu",
    Unclaimed.LOCAL: "it would boot its own disk, and look as if it had been installed",
}


def objection(arms: Arms, named: str, unclaimed: Unclaimed) -> str:
    """
    :param named: the machine or group whose document arms it.
    :param unclaimed: where machines go that nothing arms.
    :returns: why it must not begin; empty: it may.
    """
    match arms:
        case Arms.ITSELF:
            return ""
        case Arms.NOTHING:
            return (
                f"no ipxe document arms it: {_UNARMED[unclaimed]}; 'rescriptum media ipxe' prints"
                " one"
            )
        case Arms.FACTS:
            return f"the ipxe document of {named} arms it, by what it matches: {_NEVER}"
        case Arms.GROUP:
            return f"the ipxe document of group {named} alone arms it: {_NEVER}"
        case Arms.DEFAULT:
            return f"the default ipxe document alone arms it: {_NEVER}"


@frozen
class Start:
    """How a machine is made to boot. :ivar why: for people."""

    action: PowerAction
    why: str


def start(power: PowerState | None) -> Start:
    """
    :param power: as it was read; None: its controller cannot read it.
    :raises Refused: when its controller should know, and does not: on or restart would be a guess.
    """
    match power:
        case PowerState.ON:
            return Start(PowerAction.RESET, "it is on: restart")
        case PowerState.OFF:
            return Start(PowerAction.ON, "it is off: power on")
        case PowerState.UNKNOWN:
            raise Refused(
                "its controller does not say whether it is on: look by 'rescriptum power status'"
                " until it does"
            )
        case None:
            return Start(
                PowerAction.ON,
                "its controller cannot tell whether it is on: power on; if it is on, restart it"
                " by hand",
            )
