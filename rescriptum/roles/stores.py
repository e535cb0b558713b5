"""Which store the answers are in."""

import time

from ..answers.stores.directory import AnswerDirectory
from ..answers.stores.sqlite import SQLiteStore
from ..answers.stores.store import Store
from ..config import Config
from ..values import StoreKind


def store_of(config: Config) -> Store:
    """:returns: the store that is configured; nothing is opened or read yet."""
    if config.answers.store is StoreKind.FILES:
        return AnswerDirectory(config.answers.directory, time.time)
    return SQLiteStore(config.answers.database)
