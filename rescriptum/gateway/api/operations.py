"""THE table of operations: what operators can ask for, who may, and what comes back."""

from typing import Final

from attrs import frozen

from ...contract.joining import TrustBundle
from ..records import Scope
from .shapes import gateway, machines, sites, work

#: Where all of it is.
ROOT: Final = ("api", "v1")
#: What comes of a page's bounds being left out, and the most that one may ask for.
USUAL_LIMIT, LONGEST_LIMIT = 100, 500

READ, OPERATE, ADMIN = Scope.READ, Scope.OPERATE, Scope.ADMIN


@frozen
class Operation:
    """
    One row of the table.

    :ivar name: of the operation; what performs it goes by the same name.
    :ivar path: below ``/api/v1``. :ivar scope: that it takes; None: no token at all.
    :ivar takes: type of the body; None: there is none. :ivar gives: type of the reply's.
    :ivar filters: names of query parameters that narrow it.
    :ivar paged: whether ``limit`` and ``cursor`` are taken.
    :ivar refusals: codes that are its own, beside those that every operation has.
    :ivar media_type: of the reply, where it is not JSON.
    """

    name: str
    method: str
    path: str
    scope: Scope | None
    summary: str
    takes: type | None = None
    gives: type | None = None
    status: int = 200
    filters: tuple[str, ...] = ()
    paged: bool = False
    refusals: tuple[str, ...] = ()
    media_type: str = "application/json"
    matches: bool = False  # If-Match


def _listed(name: str, path: str, gives: type, summary: str, *filters: str) -> Operation:
    return Operation(name, "GET", path, READ, summary, gives=gives, filters=filters, paged=True)


def _gone(name: str, path: str, scope: Scope, summary: str, *refusals: str) -> Operation:
    refusals = ("not-found", *refusals)
    return Operation(name, "DELETE", path, scope, summary, status=204, refusals=refusals)


OPERATIONS: Final = (
    # Sites.
    _listed("site-list", "sites", sites.Sites, "All sites."),
    Operation(
        "site-create",
        "POST",
        "sites",
        OPERATE,
        "Make a site.",
        takes=sites.SiteCreate,
        gives=sites.Site,
        status=201,
        refusals=("conflict",),
    ),
    Operation(
        "site-show",
        "GET",
        "sites/<site>",
        READ,
        "One site.",
        gives=sites.Site,
        refusals=("not-found",),
    ),
    Operation(
        "site-change",
        "PUT",
        "sites/<site>",
        OPERATE,
        "Change a site.",
        takes=sites.SiteChange,
        gives=sites.Site,
        refusals=("not-found",),
    ),
    _gone("site-remove", "sites/<site>", OPERATE, "Remove a site that has nothing.", "in-use"),
    Operation(
        "lease-show",
        "GET",
        "sites/<site>/lease",
        READ,
        "Who boots machines at a site, and who did.",
        gives=sites.Lease,
        refusals=("not-found",),
    ),
    Operation(
        "lease-move",
        "POST",
        "sites/<site>/lease/move",
        OPERATE,
        "Say who is to hold the boot lease.",
        takes=sites.LeaseMove,
        gives=sites.Lease,
        refusals=("not-found", "unknown-node", "wrong-site", "wrong-role"),
    ),
    Operation(
        "lease-quarantine",
        "POST",
        "sites/<site>/lease/quarantine",
        OPERATE,
        "Stop all proofs of the boot lease: after the database was restored.",
        gives=sites.Lease,
        refusals=("not-found",),
    ),
    # Who joins, and who has.
    _listed("token-list", "tokens", sites.Tokens, "Join tokens, without what they are.", "site"),
    Operation(
        "token-create",
        "POST",
        "tokens",
        OPERATE,
        "Make a join token; it is shown this once.",
        takes=sites.TokenCreate,
        gives=sites.TokenMade,
        status=201,
        refusals=("not-found",),
    ),
    _gone(
        "token-remove",
        "tokens/<digest>",
        OPERATE,
        "Take a join token back.",
        "unknown-token",
        "token-used",
    ),
    _listed("node-list", "nodes", sites.Nodes, "Agents that have joined.", "site", "role"),
    Operation(
        "node-show",
        "GET",
        "nodes/<node>",
        READ,
        "One agent, with its inventory.",
        gives=sites.Node,
        refusals=("not-found",),
    ),
    _gone("node-remove", "nodes/<node>", OPERATE, "Have an agent's identity end."),
    # Machines.
    _listed("machine-list", "machines", machines.Machines, "Machines.", "site"),
    Operation(
        "machine-add",
        "POST",
        "machines",
        OPERATE,
        "Write down a machine.",
        takes=machines.MachineCreate,
        gives=machines.Machine,
        status=201,
        refusals=("not-found", "conflict"),
    ),
    Operation(
        "machine-show",
        "GET",
        "machines/<machine>",
        READ,
        "One machine; its revision is the ETag.",
        gives=machines.Machine,
        refusals=("not-found",),
    ),
    Operation(
        "machine-set",
        "PUT",
        "machines/<machine>",
        OPERATE,
        "Change a machine.",
        takes=machines.MachineChange,
        gives=machines.Machine,
        refusals=("not-found", "conflict", "changed-meanwhile"),
        matches=True,
    ),
    _gone("machine-remove", "machines/<machine>", OPERATE, "Forget a machine.", "in-use"),
    Operation(
        "discovered-list",
        "GET",
        "sites/<site>/discovered",
        READ,
        "Machines that boot at a site, and that nobody wrote down.",
        gives=machines.Discoveries,
        paged=True,
        refusals=("not-found",),
    ),
    Operation(
        "adopt",
        "POST",
        "sites/<site>/discovered/<mac>/adopt",
        OPERATE,
        "Write down a discovered machine.",
        takes=machines.Adoption,
        gives=machines.Machine,
        status=201,
        refusals=("not-found", "conflict"),
    ),
    # Images.
    _listed("image-list", "images", machines.Images, "Images."),
    Operation(
        "image-add",
        "POST",
        "images",
        OPERATE,
        "Write down an image.",
        takes=machines.ImageCreate,
        gives=machines.Image,
        status=201,
        refusals=("not-found", "conflict"),
    ),
    Operation(
        "image-show",
        "GET",
        "images/<image>",
        READ,
        "One image.",
        gives=machines.Image,
        refusals=("not-found",),
    ),
    _gone("image-remove", "images/<image>", OPERATE, "Forget an image.", "in-use"),
    Operation(
        "image-assign",
        "PUT",
        "images/<image>/sites/<site>",
        OPERATE,
        "Have a site cache an image.",
        gives=machines.Image,
        refusals=("not-found",),
    ),
    Operation(
        "image-unassign",
        "DELETE",
        "images/<image>/sites/<site>",
        OPERATE,
        "Let a site drop an image.",
        gives=machines.Image,
        refusals=("not-found",),
    ),
    # What agents do.
    _listed("command-list", "commands", work.Commands, "Commands.", "node", "state", "workflow"),
    Operation(
        "command-send",
        "POST",
        "commands",
        OPERATE,
        "Send a command to a node.",
        takes=work.CommandSend,
        gives=work.Command,
        status=201,
        refusals=("not-found", "unknown-kind", "bad-signature", "busy", "conflict"),
    ),
    Operation(
        "command-show",
        "GET",
        "commands/<command>",
        READ,
        "One command, with its payload.",
        gives=work.Command,
        refusals=("not-found",),
    ),
    Operation(
        "command-revoke",
        "POST",
        "commands/<command>/revoke",
        OPERATE,
        "Take a command back, if it has not begun.",
        gives=work.Command,
        refusals=("not-found", "conflict"),
    ),
    _listed("batch-list", "batches", work.Batches, "What waits for approval.", "state"),
    Operation(
        "batch-show",
        "GET",
        "batches/<batch>",
        READ,
        "What a batch would do, with the digests that approvers sign.",
        gives=work.Batch,
        refusals=("not-found",),
    ),
    Operation(
        "approve",
        "POST",
        "batches/<batch>/approvals",
        OPERATE,
        "Hand in an approval that an approver has signed.",
        takes=work.ApprovalPost,
        gives=work.Batch,
        status=201,
        refusals=(
            "not-found",
            "malformed-jws",
            "wrong-type",
            "unknown-key",
            "bad-signature",
            "conflict",
            "stale",
        ),
    ),
    _listed("workflow-list", "workflows", work.Workflows, "Workflows.", "machine", "state"),
    Operation(
        "workflow-start",
        "POST",
        "workflows",
        OPERATE,
        "Start a workflow.",
        takes=work.WorkflowStart,
        gives=work.Workflow,
        status=201,
        refusals=("not-found", "invalid-payload", "in-use", "conflict"),
    ),
    Operation(
        "workflow-show",
        "GET",
        "workflows/<workflow>",
        READ,
        "One workflow, step by step.",
        gives=work.Workflow,
        refusals=("not-found",),
    ),
    Operation(
        "workflow-cancel",
        "POST",
        "workflows/<workflow>/cancel",
        OPERATE,
        "End a workflow where it is.",
        gives=work.Workflow,
        refusals=("not-found", "conflict"),
    ),
    # The gateway.
    _listed("secret-list", "secrets", gateway.Secrets, "Names of secrets."),
    Operation(
        "secret-set",
        "PUT",
        "secrets/<secret>",
        ADMIN,
        "Set a secret; it is never shown again.",
        takes=gateway.SecretSet,
        status=204,
    ),
    _gone("secret-remove", "secrets/<secret>", ADMIN, "Forget a secret.", "in-use"),
    Operation(
        "operator-me",
        "GET",
        "me",
        READ,
        "Whose token this is.",
        gives=gateway.Operator,
    ),
    _listed("operator-list", "operators", gateway.Operators, "Who has a token."),
    Operation(
        "operator-create",
        "POST",
        "operators",
        ADMIN,
        "Give somebody a token; it is shown this once.",
        takes=gateway.OperatorCreate,
        gives=gateway.OperatorMade,
        status=201,
        refusals=("conflict",),
    ),
    _gone("operator-remove", "operators/<operator>", ADMIN, "Take a token away.", "in-use"),
    Operation("pins", "GET", "pins", READ, "What agents have to pin.", gives=gateway.Pins),
    Operation(
        "trust-show",
        "GET",
        "trust",
        READ,
        "Whom agents take commands from, once they join.",
        gives=TrustBundle,
    ),
    Operation(
        "trust-set",
        "PUT",
        "trust",
        ADMIN,
        "Say whom agents that join from now on take commands from.",
        takes=TrustBundle,
        gives=TrustBundle,
        refusals=("invalid-key",),
    ),
    Operation(
        "event-list",
        "GET",
        "log",
        READ,
        "What has happened.",
        gives=gateway.Events,
        filters=("site", "subject"),
        paged=True,
    ),
    Operation(
        "events",
        "GET",
        "events",
        READ,
        "What happens, as it happens: each event once, those after Last-Event-ID first.",
        gives=gateway.Event,
        filters=("site", "subject"),
        refusals=("over-capacity",),
        media_type="text/event-stream",
    ),
    Operation("openapi", "GET", "openapi.json", None, "This document.", gives=dict),
)

#: By name.
BY_NAME: Final = {each.name: each for each in OPERATIONS}
