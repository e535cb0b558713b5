"""What a hosted driver reads on stdin, and what it answers on stdout: protocol 1."""

import re
from typing import Final

from attrs import evolve, field, frozen

from ...contract.bmc import BmcRefusal, RotateCredential, UpdateFirmware
from ...contract.bounds import SENTENCE, text
from ...contract.refusals import Rejected
from ...contract.structure import JSON, parsed, plain, rendered, structured
from ..driver import Asked
from .masking import Mask

#: Bytes on stdout.
LONGEST_RESULT: Final = 1 << 20

_CODE: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)


@frozen
class Reply:
    """
    What stands on stdout.

    :ivar code: of the table of codes, or the driver's own; ``ok`` where it is.
    """

    ok: bool
    code: str = field(default="", validator=text(64, empty=True))
    detail: str = ""
    data: JSON = field(factory=dict)


def request(asked: Asked, address: str, pin: str, options: JSON) -> bytes:
    """:returns: one JSON document; secrets are in it, and nowhere else."""
    given = asked.args
    if isinstance(given, UpdateFirmware):  # from this agent, which verified it; not from its source
        given = evolve(given, url=asked.image_url)
    secrets = {}
    if asked.credential is not None:
        secrets["username"] = asked.credential.username
        secrets["password"] = asked.credential.password.reveal()
    if isinstance(given, RotateCredential) and asked.replacement is not None:
        secrets["new_username"] = asked.replacement.username
        secrets["new_password"] = asked.replacement.password.reveal()
    return rendered(
        {
            "operation": asked.operation.name,
            "args": plain(given),
            "config": {"address": address, "pin": pin, "options": options},
            "secrets": secrets,
        }
    )


def mask(asked: Asked) -> Mask:
    """:returns: what takes the secrets of one operation out of whatever its driver says."""
    both = (asked.credential, asked.replacement)
    return Mask(each.password for each in both if each is not None)


def data(stdout: bytes, masked: Mask) -> JSON:
    """
    :returns: of an operation that came to pass.
    :raises BmcRefusal: and nothing else: with the driver's own code, or ``bad-response``.
    """
    if len(stdout) > LONGEST_RESULT:
        raise BmcRefusal("bad-response", f"the driver answers more than {LONGEST_RESULT} bytes")
    try:
        reply = structured(Reply, parsed(stdout, LONGEST_RESULT))
    except Rejected as e:
        raise BmcRefusal("bad-response", masked(f"the driver's result: {e}")[:SENTENCE]) from None
    code = reply.code or ("ok" if reply.ok else "failed")
    if not _CODE.fullmatch(code) or (code == "ok") is not reply.ok:
        raise BmcRefusal("bad-response", "the driver's result: a code that does not go with ok")
    if not reply.ok:
        raise BmcRefusal(code, masked(reply.detail)[:SENTENCE])
    made = masked.within(reply.data)
    assert isinstance(made, dict)
    return made
