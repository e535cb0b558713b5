"""THE table of refusals: what each code means over HTTP, and what to do about it."""

from typing import Final

from attrs import frozen

from ..errors import Refused


@frozen
class Refusal:
    """
    One way to say no.

    :ivar code: stable and hyphenated; replies, results, logs and the command line carry it.
    :ivar status: of the HTTP reply, where there is one.
    :ivar meaning: what is wrong, one clause.
    :ivar advice: what to do about it, one sentence.
    """

    code: str
    status: int
    meaning: str
    advice: str


class Rejected(Refused):
    """
    A message, command or request that is refused by one row of the table.

    :ivar code: of the row.
    :ivar detail: what it was in this case; never a secret.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        """:raises KeyError: for a code that has no row: that is our fault."""
        row = REFUSALS[code]
        super().__init__(f"{code}: {detail or row.meaning}")
        self.code = code
        self.detail = detail

    @property
    def refusal(self) -> Refusal:
        """The row."""
        return REFUSALS[self.code]

    @property
    def status(self) -> int:
        """Of the HTTP reply."""
        return self.refusal.status


class Incomplete(Rejected):
    """
    A command that did part of what it should have.

    :ivar data: of its result: what it did, and what not.
    """

    def __init__(self, code: str, detail: str, data: dict[str, object]) -> None:
        super().__init__(code, detail)
        self.data = data


_ROWS: Final = (
    # What cannot be read.
    Refusal(
        "malformed-json",
        400,
        "the body is not JSON, or says one thing twice",
        "Send one JSON document in UTF-8.",
    ),
    Refusal(
        "invalid-message",
        400,
        "a field is missing, unknown or of the wrong kind",
        "Compare the message with its JSON Schema; both sides should run the same release.",
    ),
    Refusal(
        "too-large",
        413,
        "the message is longer than its bound",
        "Send less at once; the protocol page names each bound.",
    ),
    Refusal(
        "malformed-jws",
        400,
        "not a signed message in compact serialisation",
        "Send the signed text as the other side made it, unchanged.",
    ),
    Refusal(
        "malformed-jwe",
        400,
        "not a sealed message in compact serialisation",
        "Seal the token anew with the key from /v1/keys.",
    ),
    Refusal(
        "wrong-type",
        403,
        "a signed message of another kind, or with a header that is not ours",
        "Use each signed message for what it was signed for.",
    ),
    Refusal(
        "unknown-key",
        403,
        "signed by a key that may not say this",
        "Compare 'rescriptum gateway trust show'; agents that joined before have to join again.",
    ),
    Refusal(
        "bad-signature",
        403,
        "the signature does not hold, or the key may not sign this",
        "Sign it again with a key that is allowed to, within its time.",
    ),
    Refusal(
        "invalid-key",
        400,
        "not a public key of the expected kind",
        "Send a JWK with just kty, crv and x.",
    ),
    Refusal(
        "bad-token",
        403,
        "the sealed token does not open, or is not for this",
        "Join again with a fresh token, and compare the join encryption pin.",
    ),
    Refusal(
        "unknown-path",
        404,
        "the gateway has no such path",
        "Compare the path with the protocol page; both sides should run the same release.",
    ),
    Refusal(
        "wrong-method",
        405,
        "the path does not take this method",
        "Use one that the Allow header names.",
    ),
    # Joining.
    Refusal(
        "key-mismatch",
        403,
        "the message belongs to another key",
        "Join again: nothing between agent and gateway may change the request.",
    ),
    Refusal(
        "unknown-token",
        403,
        "no such join token",
        "Make one: 'rescriptum gateway token create SITE'.",
    ),
    Refusal(
        "token-used",
        403,
        "the join token has been used",
        "Tokens are single use: make another one.",
    ),
    Refusal(
        "token-expired",
        403,
        "the join token has expired",
        "Make another one, with --lifetime if an hour is not enough.",
    ),
    Refusal(
        "wrong-site",
        403,
        "the message names another site",
        "Compare 'site' of the configuration with the site that the token was made for.",
    ),
    Refusal(
        "wrong-role",
        403,
        "not for an agent of this role",
        "Compare the role with what the token or the kind is for.",
    ),
    Refusal(
        "pin-mismatch",
        403,
        "a key is not the pinned one",
        "Compare it with 'rescriptum gateway pins'; if nobody changed it, somebody is between.",
    ),
    Refusal(
        "stale",
        403,
        "the message was made too long ago, or in the future",
        "Set the clocks: five minutes of difference are the most.",
    ),
    Refusal(
        "replayed",
        403,
        "the message has been used before",
        "Make a fresh one; if nobody sent it twice, somebody is between.",
    ),
    Refusal(
        "bad-assertion",
        403,
        "the discovery assertion does not fit this machine and token",
        "Boot the machine again: the site agent makes a fresh assertion.",
    ),
    # Sessions.
    Refusal(
        "unknown-node",
        403,
        "no such node, or one that was removed",
        "Join again with a fresh token and an empty data directory.",
    ),
    Refusal(
        "unknown-session",
        401,
        "no such session, or one that is over",
        "Say Hello again.",
    ),
    Refusal(
        "wrong-audience",
        403,
        "the Hello is for another gateway",
        "Compare gateway_server_name with the name that the gateway has.",
    ),
    Refusal(
        "superseded",
        401,
        "another session of this node has taken its place",
        "Look for a second process, or a second host, with the same identity.",
    ),
    Refusal(
        "slow-reader",
        408,
        "frames were not read for too long",
        "Nothing: the agent opens another stream.",
    ),
    Refusal(
        "over-capacity",
        503,
        "all places are taken",
        "Ask again in a few seconds; raise the bound if it stays so.",
    ),
    Refusal(
        "store-unavailable",
        503,
        "the database does not answer",
        "Ask again in a few seconds; look at the database.",
    ),
    # Commands.
    Refusal(
        "invalid-payload",
        400,
        "the payload does not fit the kind",
        "Compare it with the kind's JSON Schema.",
    ),
    Refusal(
        "wrong-node",
        403,
        "the command is for another node",
        "Send it to the node that it names.",
    ),
    Refusal(
        "expired",
        403,
        "the command is past its time, or valid for longer than a day",
        "Send it again with a fresh not_after.",
    ),
    Refusal(
        "unknown-kind",
        404,
        "the agent does not run this kind",
        "Look at the kinds that the node's Hello lists, or run a newer release.",
    ),
    Refusal(
        "unsigned",
        403,
        "the command is not signed and the agent knows command roots",
        "Have a root certify the gateway's worker: 'rescriptum gateway keys certify'.",
    ),
    Refusal(
        "quorum-missing",
        403,
        "not enough approvers have approved this very command",
        "Have the batch approved: 'rescriptum gateway approve BATCH --key FILE'.",
    ),
    Refusal(
        "stale-epoch",
        409,
        "made under another epoch of the boot lease",
        "Nothing: it is sent again to whoever holds the lease now.",
    ),
    Refusal(
        "interrupted",
        409,
        "the agent was stopped while it ran, or its journal is younger than the command",
        "See what the machine's state is, and send it again if it is to be done.",
    ),
    Refusal(
        "revoked",
        409,
        "the command was taken back before it ran",
        "Send another one if it is to be done after all.",
    ),
    Refusal(
        "busy",
        503,
        "as many commands as allowed are waiting",
        "Ask again when some of them are done.",
    ),
    Refusal(
        "timeout",
        504,
        "not done in its time; whether it took effect is not known",
        "See what the machine's state is before it is sent again.",
    ),
    Refusal(
        "failed",
        500,
        "it was tried and failed",
        "See the detail, and the agent's log.",
    ),
    Refusal(
        "wipe-unverified",
        500,
        "of at least one disk it is not sure that it is empty",
        "The result says of each disk what was tried; nothing is installed on such a machine.",
    ),
    Refusal(
        "diagnostics-failed",
        500,
        "at least one part of the machine does not do what it should",
        "The result says of each part what was found; look at those that failed.",
    ),
    Refusal(
        "kexec-refused",
        500,
        "this kernel starts no other one",
        "See the detail; with Secure Boot the other kernel has to be signed.",
    ),
    Refusal(
        "journal-unavailable",
        503,
        "the agent cannot write its journal, and does nothing that is not in it",
        "Look at the disk of data_dir.",
    ),
    Refusal(
        "secret-refused",
        403,
        "the command's workflow does not name this secret",
        "Name it in the workflow, or ask for the one that is named.",
    ),
    Refusal(
        "secret-unreadable",
        500,
        "the secret does not open with the keys that this gateway has",
        "Restore secrets.key as it was when the secret was set, or set the secret again.",
    ),
    Refusal(
        "conflicting-result",
        409,
        "another result of this command is recorded already",
        "Look at the node: two processes may share its identity.",
    ),
    Refusal(
        "request-denied",
        403,
        "the site agent does not make such a request",
        "The detail names the rule: compare with the table of docs/site-proxy.md.",
    ),
    # Operators.
    Refusal(
        "unauthorized",
        401,
        "no operator token, or another",
        "Present a token of this gateway: 'rescriptum gateway operator create NAME'.",
    ),
    Refusal(
        "locked-out",
        429,
        "too many wrong tokens from this address",
        "Wait as long as Retry-After says, then present the right one.",
    ),
    Refusal(
        "forbidden",
        403,
        "the token's scope does not allow this",
        "Use a token of scope operate, or admin for keys, operators and secrets.",
    ),
    Refusal(
        "not-found",
        404,
        "there is nothing of that name",
        "List what there is, and compare the name.",
    ),
    Refusal(
        "conflict",
        409,
        "it exists already, or has changed meanwhile",
        "Read it again, and decide again.",
    ),
    Refusal(
        "changed-meanwhile",
        412,
        "it is not any more what If-Match names",
        "Read it again, and decide again.",
    ),
    Refusal(
        "in-use",
        409,
        "something else still needs it",
        "Remove what the detail names first.",
    ),
)

#: By code.
REFUSALS: Final = {row.code: row for row in _ROWS}
