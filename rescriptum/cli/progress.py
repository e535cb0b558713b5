"""How much of a long piece of work is done, for whoever looks on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

#: Called with how much is done, and of how much.
Advance = Callable[[int, int], None]
#: By what is being done.
Follow = Callable[[str], Advance]


@contextmanager
def counted(err: TextIO) -> Iterator[Follow]:
    """A bar for each of what is done on a terminal, nothing elsewhere."""
    if not err.isatty():
        yield lambda what: lambda done, of: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(file=err), transient=True) as progress:

        def bar(what: str) -> Advance:
            task = progress.add_task(what, total=None)
            return lambda done, of: progress.update(task, completed=done, total=of)

        yield bar
