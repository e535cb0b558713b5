"""How much of a long piece of work is done, for whoever looks on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

#: From what is being done to what is called with how much of it is done, and of how much.
Follow = Callable[[str], Callable[[int, int], None]]


@contextmanager
def counted(err: TextIO) -> Iterator[Follow]:
    """A bar for each of what is done on a terminal, nothing elsewhere."""
    if not err.isatty():
        yield lambda what: lambda done, of: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(file=err), transient=True) as progress:

        def bar(what: str) -> Callable[[int, int], None]:
            task = progress.add_task(what, total=None)
            return lambda done, of: progress.update(task, completed=done, total=of)

        yield bar
