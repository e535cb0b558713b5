"""Which command runs next: those of one machine one after the other, others side by side."""


class Lanes:
    """
    Names with keys: of each key one runs at a time, in the order in which they were added.

    :ivar waiting: how many have not begun.
    """

    def __init__(self, abreast: int) -> None:
        """:param abreast: how many may run at once."""
        self._abreast = abreast
        self._waiting: dict[str, str] = {}
        self._running: dict[str, str] = {}

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, name: str, key: str) -> None:
        """:param key: empty: it waits for no other."""
        self._waiting[name] = key

    def begin(self) -> list[str]:
        """:returns: what is to begin now, and counts as running from now on."""
        held = set(self._running.values())
        begun = []
        for name, key in list(self._waiting.items()):
            if len(self._running) >= self._abreast:
                break
            if not key or key not in held:
                del self._waiting[name]
                self._running[name] = key
                begun.append(name)
            held.add(key)
        return begun

    def withdraw(self, name: str) -> bool:
        """:returns: whether it was still waiting, and is no longer."""
        return self._waiting.pop(name, None) is not None

    def end(self, name: str) -> None:
        """What ran does not run any more."""
        del self._running[name]
