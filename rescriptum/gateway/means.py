"""What workflows are begun, carried on and ended with."""

from collections.abc import Callable

from attrs import frozen

from .signing import Worker


@frozen(kw_only=True)
class Means:
    """
    What a process of a gateway gives to each of its workflows.

    :ivar process: whose they are. :ivar new_id: makes names that nothing has.
    :ivar new_token: makes unguessable texts. :ivar seal: makes of a secret what is stored.
    :ivar worker: who signs commands; None: they travel unsigned.
    """

    process: str
    new_id: Callable[[], str]
    new_token: Callable[[], str]
    seal: Callable[[str, bytes], bytes]
    worker: Callable[[], Worker | None]
