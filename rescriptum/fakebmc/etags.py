"""ETags: what a GET shows, and which ``If-Match`` a PATCH is taken with."""

from attrs import evolve, frozen

from .asking import Answer, refusal
from .state import State
from .switches import Switch

#: Those with which a PATCH without ``If-Match`` is refused.
_STRICT = (
    Switch.GET_FIRST,
    Switch.ETAG_QUOTED_TWICE,
    Switch.ETAG_BODY_ONLY,
    Switch.ETAG_BODY_DIFFERS,
    Switch.ETAG_WEAK,
    Switch.ETAG_ANY,
    Switch.ETAG_CHANGES,
)


@frozen
class Shown:
    """:ivar header: and ``body``; None where there is none. :ivar right: that a PATCH needs."""

    header: str | None
    body: str | None
    right: str


def shown(state: State) -> Shown:
    """What a GET at this moment would show."""
    switches = state.switches
    number = state.version + (state.gets if Switch.ETAG_CHANGES in switches else 0)
    right = f'"{number}"'
    header: str | None = right
    body: str | None = right
    if Switch.ETAG_EMPTY in switches:
        header, body = '""', ""
    elif Switch.ETAG_QUOTED_TWICE in switches:
        header, body = f'"{right}"', f'"{right}"'
    elif Switch.ETAG_BODY_ONLY in switches:
        header = None
    elif Switch.ETAG_BODY_DIFFERS in switches:
        header = f'"{number}-gzip"'
    elif Switch.ETAG_WEAK in switches:
        header = body = f"W/{right}"
    return Shown(header, body, right)


def got(state: State) -> tuple[State, Shown]:
    """A GET of what can be changed."""
    state = evolve(state, gets=state.gets + 1)
    tags = shown(state)
    return evolve(state, given=tags.right), tags


def unmatched(state: State, if_match: str | None) -> Answer | None:
    """:returns: why a PATCH is refused; None: it is not."""
    switches, tags = state.switches, shown(state)
    if if_match is None and Switch.NEEDS_IF_MATCH in switches:
        return refusal(switches, 428, "PreconditionRequired", "If-Match is missing.")
    if Switch.ETAG_NEVER in switches:
        right = False
    elif Switch.ETAG_EMPTY in switches:
        right = if_match is None
    elif Switch.ETAG_ANY in switches:
        right = if_match == "*"
    elif if_match is None:
        right = not any(each in switches for each in _STRICT)
    elif any(each in switches for each in _STRICT):
        right = if_match == tags.right
    else:
        right = if_match in ("*", tags.right)
    if right and Switch.GET_FIRST in switches:
        right = tags.right == state.given
    if right:
        return None
    return refusal(switches, 412, "PreconditionFailed", "The ETag does not match.")
