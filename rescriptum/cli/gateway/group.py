"""``rescriptum gateway``: all of its commands."""

from typing import ClassVar

from ..options import Group
from .events import EventsOptions
from .init import InitOptions
from .keys import KeysOptions
from .machines import AdoptOptions, DiscoveredOptions, ImageOptions, MachineOptions
from .people import OperatorOptions, PinsOptions, SecretOptions, TrustOptions
from .sites import LeaseOptions, NodeOptions, SiteOptions, TokenOptions
from .watch import WatchOptions
from .work import ApproveOptions, BatchOptions, CommandOptions
from .workflows import DeployOptions, InspectOptions, PowerOptions, WipeOptions, WorkflowOptions


class GatewayOptions(Group):
    """``gateway``."""

    synopsis = "Usage: rescriptum gateway COMMAND [options]"
    longdesc = (
        "An operator's side of a gateway, over its API. The gateway itself is started by 'twistd "
        "-n rescriptum gateway'. On its own host these commands find it by what 'gateway init' "
        "wrote down; elsewhere by --gateway, --token-file and --pin."
    )
    subCommands: ClassVar[list[list[object]]] = [
        ["adopt", None, AdoptOptions, "Write down a discovered machine."],
        ["approve", None, ApproveOptions, "Hand in a signed approval."],
        ["batch", None, BatchOptions, "What waits for approval."],
        ["command", None, CommandOptions, "What agents are told to do."],
        ["deploy", None, DeployOptions, "Erase a machine and write an image to it."],
        ["discovered", None, DiscoveredOptions, "Machines that nobody wrote down."],
        ["events", None, EventsOptions, "What has happened, and what happens."],
        ["image", None, ImageOptions, "Images, and which sites cache them."],
        ["init", None, InitOptions, "Make a gateway's keys and its first operator."],
        ["inspect", None, InspectOptions, "See what a machine has."],
        ["keys", None, KeysOptions, "Roots, workers and approvers; offline."],
        ["lease", None, LeaseOptions, "Who boots machines at a site."],
        ["machine", None, MachineOptions, "Machines."],
        ["node", None, NodeOptions, "Agents that have joined."],
        ["operator", None, OperatorOptions, "Who may use this API."],
        ["pins", None, PinsOptions, "What agents have to pin."],
        ["power", None, PowerOptions, "Turn a machine on or off."],
        ["secret", None, SecretOptions, "Passwords and keys, never shown."],
        ["site", None, SiteOptions, "Sites."],
        ["token", None, TokenOptions, "Tokens by which agents join."],
        ["trust", None, TrustOptions, "Whom agents take commands from."],
        ["watch", None, WatchOptions, "Follow a workflow to its end."],
        ["wipe", None, WipeOptions, "Erase a machine."],
        ["workflow", None, WorkflowOptions, "What is done to machines."],
    ]
