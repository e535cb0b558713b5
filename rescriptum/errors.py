"""
What can go wrong, by what the caller can do about it.

An error knows nothing of any protocol: shells map ``code`` to a TFTP error, an
HTTP status or an exit code, each by one table.
"""

from collections.abc import Sequence

from .values import Problem


class RescriptumError(Exception):
    """
    The root of the tree.

    :ivar code: stable and hyphenated, of the class or of the error; logs and replies carry it.
    """

    code: str = "error"


class Malformed(RescriptumError):
    """Input that does not follow its format."""

    code = "malformed"


class MalformedDatagram(Malformed):
    """Not a datagram of TFTP (RFC 1350 section 5), or of DHCP (RFC 2131 section 2)."""

    code = "malformed-datagram"


class MalformedRequest(Malformed):
    """Not an HTTP request that can be answered: RFC 9112."""

    code = "malformed-request"


class MalformedImage(Malformed):
    """Not an ISO 9660 image, or one whose structures contradict each other: ECMA-119."""

    code = "malformed-image"


class MalformedDocument(Malformed):
    """A document of the answer set, or a sidecar, that does not parse."""

    code = "malformed-document"


class Refused(RescriptumError):
    """A request that is understood and will not be granted."""

    code = "refused"


class NotFound(Refused):
    """There is nothing of that name."""

    code = "not-found"


class Forbidden(Refused):
    """It may exist, and this peer does not get it."""

    code = "forbidden"


class Unfillable(RescriptumError):
    """A placeholder of a template that this request cannot fill."""

    code = "unfillable"


class Unverified(RescriptumError):
    """Bytes that are not the ones their digest, pin or signature promised."""

    code = "unverified"


class Unavailable(RescriptumError):
    """
    Not now; asking again may help.

    :ivar retry_after: seconds until it is worth asking again.
    """

    code = "unavailable"

    def __init__(self, message: str, retry_after: int = 5) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ConfigError(RescriptumError):
    """
    A configuration that cannot start.

    :ivar problems: all of them, not the first one.
    """

    code = "config"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(each) for each in problems))
        self.problems = tuple(problems)
