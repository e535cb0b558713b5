"""Changes of a resource: a few tries, each by the ETag of that moment."""

from attrs import evolve

from .documents import Document
from .etags import Tried, next_try
from .replies import Reply, declined
from .session import Session


async def change(session: Session, path: str, body: Document) -> Reply:
    """
    PATCH a resource, four times at the most.

    :raises Declined: unless it succeeds.
    """
    tried: tuple[Tried, ...] = ()
    reply: Reply | None = None
    while True:
        header, inside = await _tags(session, path)  # right before: some change each second (W217)
        trying = next_try(session.profile.etag, tried, header, inside)
        if trying is None:
            assert reply is not None  # there is always a first try
            raise declined(reply, session.mask)
        headers = () if trying.value is None else (("If-Match", trying.value),)
        reply = await session.reply("PATCH", path, body, headers)
        if reply.fine:
            if trying.value is not None:
                session.profile = evolve(session.profile, etag=trying.way.value)
            return reply
        if reply.status not in (412, 428):
            raise declined(reply, session.mask)
        tried += (trying,)


async def _tags(session: Session, path: str) -> tuple[str, str]:
    """:returns: header and body's: none of a resource that may be changed, but not read (W244)."""
    reply = await session.reply("GET", path)
    if not reply.fine:
        return "", ""
    inside = reply.document().get("@odata.etag")
    return reply.headers.get("etag", ""), inside if isinstance(inside, str) else ""
