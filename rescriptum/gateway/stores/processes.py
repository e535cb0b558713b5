"""Gateway processes: one whose beat stands still is gone, whatever the clocks say."""

from sqlalchemy import Connection, delete, insert, select, update

from .rows import named
from .tables import processes


def beat(connection: Connection, process: str, now: int) -> None:
    """``process`` is there: the first time also."""
    mine = processes.c.id == process
    if not connection.execute(
        update(processes).where(mine).values(beat=processes.c.beat + 1)
    ).rowcount:
        row = {"id": named("process", process), "beat": 0, "started_at": now}
        connection.execute(insert(processes).values(row))


def beats(connection: Connection) -> dict[str, int]:
    """:returns: of every process that is remembered."""
    statement = select(processes.c.id, processes.c.beat)
    return {row.id: row.beat for row in connection.execute(statement)}


def forget(connection: Connection, process: str, number: int) -> bool:
    """:param number: its beat, which stood still. :returns: whether it still does."""
    gone = (processes.c.id == process) & (processes.c.beat == number)
    return connection.execute(delete(processes).where(gone)).rowcount == 1
