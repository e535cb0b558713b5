"""
The ramdisk's kernel arguments: the contract between a site agent, which renders them, and the
ramdisk, which parses them.
"""

import base64
import binascii
import re
from typing import Final, Self

from attrs import field, fields, frozen

from ..errors import Malformed

PREFIX: Final = "bc."
#: Characters of all of them together: Linux cuts a command line at 2048, and there is more in it.
LONGEST: Final = 1984
#: Those without which a ramdisk cannot join.
REQUIRED: Final = ("gateway", "site", "jwk", "token", "assertion")

#: One word for the kernel, which splits at blanks and takes quotes away, and for iPXE, whose
#: settings expand and which ends a command at such words.
_WORD = re.compile(r"[!#-~]+", re.ASCII)


@frozen
class BootParameters:
    """
    Each is one argument, ``bc.NAME=``, in this order; an empty one is left out.

    :ivar gateway: its URL. :ivar server_name: that its certificate has to have.
    :ivar serving_ca_pin: two while the CA is being replaced, with a comma between.
    :ivar jwk: the gateway's key that the join token is sealed to: JSON; base64url on the line.
    :ivar token: single-use, and bound to ``mac``; anything on the ramdisk can read it.
    :ivar assertion: the site agent's, that it saw this machine boot.
    :ivar cache: where the site's images are, with the grant.
    """

    gateway: str = ""
    server_name: str = ""
    site: str = ""
    serving_ca_pin: str = ""
    join_signing_pin: str = ""
    join_encryption_pin: str = ""
    jwk: bytes = b""
    token: str = field(default="", repr=False)
    assertion: str = field(default="", repr=False)
    mac: str = ""
    cache: str = field(default="", repr=False)

    def words(self) -> tuple[str, ...]:
        """
        :raises Malformed: when one of them is not one word, or they are too long for a kernel.
        """
        words = []
        for each in fields(type(self)):
            value = getattr(self, each.name)
            text = _base64url(value) if isinstance(value, bytes) else str(value)
            if not text:
                continue
            if not _WORD.fullmatch(text) or "${" in text:
                raise Malformed(f"{PREFIX}{each.name}: not one word of a kernel's command line")
            words.append(f"{PREFIX}{each.name}={text}")
        if len(" ".join(words)) > LONGEST:
            raise Malformed(f"boot parameters of more than {LONGEST} characters")
        return tuple(words)

    @classmethod
    def parse(cls, line: str) -> Self:
        """
        :param line: ``/proc/cmdline``; what does not begin with ``bc.`` is not ours, and what is
            not known is of a later agent.
        :raises Malformed: when one is there twice, or is not in its form.
        """
        names = {each.name for each in fields(cls)}
        given: dict[str, str] = {}
        for word in line.split():
            name, equals, value = word.removeprefix(PREFIX).partition("=")
            if not word.startswith(PREFIX) or not equals or name not in names:
                continue
            if name in given:
                raise Malformed(f"{PREFIX}{name} is there twice")
            given[name] = value
        try:
            jwk = _from_base64url(given.pop("jwk", ""))
        except ValueError:
            raise Malformed(f"{PREFIX}jwk: not base64url") from None
        return cls(jwk=jwk, **given)

    @property
    def missing(self) -> tuple[str, ...]:
        """Arguments without which a ramdisk cannot join."""
        return tuple(f"{PREFIX}{name}" for name in REQUIRED if not getattr(self, name))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _from_base64url(text: str) -> bytes:
    """:raises ValueError: unless :func:`_base64url` makes ``text`` of what comes out."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as e:
        raise ValueError(str(e)) from None
    if _base64url(data) != text:
        raise ValueError(text)
    return data
