"""
A DHCP client made of bytes: asks as each kind of firmware would, prints what it is offered.

Runs in a namespace of its own: ``python -m tests.lab.asking FILE`` with a list of questions in
JSON, as :func:`ask` writes it. ``python -m tests.lab.asking --always FILE`` asks the first of them
five times a second until it is stopped, each time as if for the first time.
"""

import json
import os
import select
import socket
import sys
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from attrs import asdict, frozen

from .assets import CHECKOUT
from .captures import OFFER, dhcp_message
from .network import CLIENT, Network, Running

SECONDS = 8
PAUSE = 0.2
_ASKING = (sys.executable, "-m", "tests.lab.asking")
_ENVIRONMENT = {"PYTHONPATH": str(CHECKOUT)}


def asker(number: int) -> str:
    """:returns: the MAC of a client that asks, by the number of its question."""
    return f"52:54:00:77:00:{number:02x}"


@frozen
class Question:
    """
    What a client says of itself.

    :ivar architecture: option 93, or None: it does not say.
    :ivar vendor_class: option 60, or empty.
    :ivar user_class: option 77, or empty.
    """

    architecture: int | None
    vendor_class: str = ""
    user_class: str = ""

    def discover(self, number: int, time: int = 0) -> bytes:
        """A DISCOVER that wants its answer broadcast: the client's address is not its own."""
        xid = (0x52530000 + number + (time << 8)).to_bytes(4, "big")
        mac = bytes.fromhex(asker(number).replace(":", ""))
        fixed = b"\1\1\6\0" + xid + b"\0\0\x80\0" + bytes(16) + mac.ljust(16, b"\0") + bytes(192)
        options = [(53, b"\1"), (55, bytes((1, 3, 43, 54, 60, 66, 67))), (57, b"\x05\xc0")]
        if self.architecture is not None:
            options.append((93, self.architecture.to_bytes(2, "big")))
            options.append((94, b"\1\3\x10"))
        if self.vendor_class:
            options.append((60, self.vendor_class.encode()))
        if self.user_class:
            options.append((77, self.user_class.encode()))
        body = b"".join(bytes((code, len(value))) + value for code, value in options)
        return (fixed + b"\x63\x82\x53\x63" + body + b"\xff").ljust(300, b"\0")


@frozen
class Offered:
    """
    :ivar file: the BOOTP field; ``option67`` the option.
    :ivar next_server: ``siaddr``; ``vendor_class`` option 60.
    """

    file: str
    option67: str
    next_server: str
    vendor_class: str


def ask(network: Network, questions: Sequence[Question]) -> list[Offered | None]:
    """
    :returns: the first offer that each question got, or None.
    """
    if not network.has("client"):
        network.host("client", CLIENT)
    path = _written(network, questions)
    done = network.call("client", [*_ASKING, path], _ENVIRONMENT)
    if done.returncode:
        raise AssertionError(f"{done.stdout}{done.stderr}")
    return [None if each is None else Offered(**each) for each in json.loads(done.stdout)]


def always(network: Network, question: Question) -> Running:
    """:returns: a client in a namespace of its own, that asks until it is stopped."""
    network.host("client", CLIENT)
    path = _written(network, [question])
    return network.spawn("client", "always", [*_ASKING, "--always", path], _ENVIRONMENT)


def _written(network: Network, questions: Sequence[Question]) -> Path:
    path = network.directory / "questions.json"
    path.write_text(json.dumps([asdict(each) for each in questions]))
    return path


def _client() -> socket.socket:
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    # Without a default route the broadcast address is only reachable through a device.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0\0")
    client.bind(("0.0.0.0", 68))
    return client


def _always(question: Question) -> None:
    with _client() as client:
        for time_ in count(1):
            client.sendto(question.discover(0, time_), ("255.255.255.255", 67))
            time.sleep(PAUSE)


def _ask(questions: Sequence[Question]) -> list[Offered | None]:
    offers: list[Offered | None] = [None] * len(questions)
    with _client() as client:
        end = time.monotonic() + SECONDS
        again = 0.0
        while None in offers and (left := end - time.monotonic()) > 0:
            if time.monotonic() >= again:
                again = time.monotonic() + 2
                for number, question in enumerate(questions):
                    if offers[number] is None:
                        client.sendto(question.discover(number), ("255.255.255.255", 67))
            if not select.select([client], [], [], min(left, 0.2))[0]:
                continue
            data, (sender, _) = client.recvfrom(4096)
            message = dhcp_message(sender, data)
            number = int(message.mac[-2:], 16)
            if message.kind == OFFER and number < len(questions) and offers[number] is None:
                offers[number] = Offered(
                    message.file, message.option(67), message.next_server, message.option(60)
                )
    return offers


if __name__ == "__main__":
    asked = [Question(**each) for each in json.loads(Path(sys.argv[-1]).read_text())]
    if "--always" in sys.argv:
        _always(asked[0])
    found = [None if each is None else asdict(each) for each in _ask(asked)]
    os.write(1, json.dumps(found).encode())
