"""
A fake BMC as a process of its own: its first line is where it is and who may ask it, and each other
one what happened to its machine.
"""

import json
import sys
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.interfaces import IReactorCore, IReactorTCP

from rescriptum.fakebmc.service import FakeBMC
from rescriptum.fakebmc.state import Changed


def main(path: Path, password: str) -> None:
    def say(line: str) -> None:
        with path.open("a") as file:
            file.write(line + "\n")

    def changed(what: Changed) -> None:
        say(what.what)

    bmc = FakeBMC(IReactorTCP(reactor), password=password, changed=changed)
    bmc.startService()
    say(json.dumps({"address": bmc.address, "pin": bmc.pin, "username": bmc.username}))
    IReactorCore(reactor).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
