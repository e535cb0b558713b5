"""What ipmitool says when it fails, as codes: it exits with 1, whatever it was."""

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from ...contract.bmc import BmcRefusal


@frozen
class Saying:
    """
    Words on stderr.

    :ivar words: in lower case. :ivar code: what they mean.
    :ivar other_cipher: whether the next cipher suite may do: no session was opened with this one.
    """

    words: str
    code: str
    other_cipher: bool = False


#: THE table: the first row whose words are there counts.
SAYINGS: Final = (
    # Of the session. 17 is unknown to older BMCs and to older ipmitools.
    Saying("invalid authentication algorithm", "tls-error", True),
    Saying("invalid integrity algorithm", "tls-error", True),
    Saying("invalid confidentiality algorithm", "tls-error", True),
    Saying("no matching authentication payload", "tls-error", True),
    Saying("no matching integrity payload", "tls-error", True),
    Saying("no matching cipher suite", "tls-error", True),
    Saying("no cipher suite match", "tls-error", True),
    Saying("unsupported cipher suite id", "tls-error", True),
    Saying("no response from open session request", "unreachable", True),
    Saying("rakp 2 hmac is invalid", "auth-failed"),
    Saying("unauthorized name", "auth-failed"),
    Saying("unauthorized role", "auth-failed"),
    Saying("invalid role", "auth-failed"),
    Saying("invalid name length", "auth-failed"),
    Saying("invalid user name", "auth-failed"),
    Saying("illegal parameter", "auth-failed"),
    Saying("insufficient privilege level", "auth-failed"),
    Saying("insufficient resources", "conflict"),
    Saying("address lookup for", "unreachable"),
    Saying("get auth capabilities error", "unreachable"),
    # Of the command.
    Saying("not supported in present state", "conflict"),
    Saying("node busy", "conflict"),
    Saying("out of space", "conflict"),
    Saying("invalid command", "unsupported-operation"),
    Saying("command not supported", "unsupported-operation"),
    Saying("invalid data field", "unsupported-operation"),
    Saying("unsupported parameter", "unsupported-operation"),
    Saying("unable to establish", "unreachable"),
    Saying("timeout", "timeout"),
    Saying("no response", "timeout"),
    Saying("unable to send", "timeout"),
)

#: What ``-v`` tells of every session, and is no failure.
_NOISE: Final = (
    "loading iana",
    "iana pen registry",
    "running get vso",
    "invalid completion code received",
    "discovered ipmb",
    "get hpm.x capabilities",
)


def _lines(stderr: str) -> Iterator[str]:
    for line in stderr.splitlines():
        bare = line.strip(" >\t")
        if bare and not bare.lower().startswith(_NOISE):
            yield bare


def saying(stderr: str) -> Saying | None:
    """:returns: the row that fits; None: nobody knows what it was."""
    told = "\n".join(_lines(stderr)).lower()
    return next((each for each in SAYINGS if each.words in told), None)


def refusal(stderr: str) -> BmcRefusal:
    """:returns: why ipmitool failed, with the line that says so."""
    row = saying(stderr)
    lines = list(_lines(stderr))
    if row is None:
        return BmcRefusal("failed", f"ipmitool: {lines[-1] if lines else 'no reason given'}"[:300])
    line = next((each for each in lines if row.words in each.lower()), row.words)
    return BmcRefusal(row.code, f"ipmitool: {line}"[:300])
