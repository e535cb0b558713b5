"""Words that something has changed: told within a transaction, heard once it is committed."""

from typing import Final, Literal, get_args

from attrs import frozen
from sqlalchemy import Connection, bindparam, func, select

#: What has changed: the lease of a site, commands of a node, what a node or site is to have,
#: sessions of a site, a workflow, the events.
Topic = Literal["lease", "commands", "spec", "sessions", "workflows", "events"]

CHANNEL: Final = "rescriptum"
_PENDING: Final = "rescriptum-notices"
_TELL: Final = select(func.pg_notify(CHANNEL, bindparam("notice")))


@frozen
class Notice:
    """:ivar key: a name, by the topic; empty where there is only one of them."""

    topic: Topic
    key: str

    @classmethod
    def parse(cls, text: str) -> "Notice | None":
        """:returns: None for the notice of a release that knows other topics."""
        topic, _, key = text.partition(" ")
        for each in get_args(Topic):
            if each == topic:
                return cls(each, key)
        return None

    def __str__(self) -> str:
        return f"{self.topic} {self.key}"


def notify(connection: Connection, topic: Topic, key: str = "") -> None:
    """Tell it to every process, if and when this transaction is committed."""
    notice = Notice(topic, key)
    told: dict[Notice, None] = connection.info.setdefault(_PENDING, {})
    if notice in told:
        return
    told[notice] = None
    if connection.dialect.name == "postgresql":
        connection.execute(_TELL, {"notice": str(notice)})


def taken(connection: Connection) -> tuple[Notice, ...]:
    """:returns: what this transaction told so far, or the one before that was rolled back."""
    return tuple(connection.info.pop(_PENDING, ()))
