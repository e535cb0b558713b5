"""
How long a directory of answers takes to read, in a process that does nothing else:
``python -m bench.answers_load DIRECTORY MACHINES``. It edits documents of some machines.

``again`` is a reading after one edit, where the kernel tells what has changed; ``looking`` one
where it does not, and each directory has to be looked at.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from rescriptum.answers.answerset import AnswerSet
from rescriptum.answers.stores.directory import AnswerDirectory
from rescriptum.answers.stores.watches import Watches

from .answers_set import write_machine

EDITS = 7
RECENT = 2.5


def edited(directory: AnswerDirectory, root: Path, machines: int, answers: AnswerSet) -> float:
    """:returns: milliseconds of a reading after one edit."""
    again = []
    for edit in range(EDITS):
        write_machine(root, machines * edit // EDITS, f"edited-{edit}.example.com")
        started = time.perf_counter()
        answers = AnswerSet.of(directory.listing(), answers)
        again.append(time.perf_counter() - started)
    return statistics.median(again) * 1000


def main(root: Path, machines: int) -> None:
    watches = Watches()
    if watches.open() is None:
        sys.exit(f"nothing watches directories here: {watches.trouble}")
    directory = AnswerDirectory(root, time.time, watches)
    started = time.perf_counter()
    answers = AnswerSet.of(directory.listing())
    figures: dict[str, float] = {"first": time.perf_counter() - started}
    time.sleep(RECENT)  # a file that was just written is read again: its times are coarse
    figures["again"] = edited(directory, root, machines, AnswerSet.of(directory.listing()))
    watches.close()
    looking = AnswerDirectory(root, time.time)
    figures["looking"] = edited(looking, root, machines, AnswerSet.of(looking.listing()))
    figures["machines"] = len(answers.machines)
    figures["problems"] = len(answers.problems)
    print(json.dumps(figures))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
