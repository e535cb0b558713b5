"""
``twistd rescriptum site`` with kinds of its own, which only write down that they ran.

Kinds append lines to the file that ``RESCRIPTUM_TEST_RAN`` names. Where
``RESCRIPTUM_TEST_ANSWERS`` names one, the fence is asked each 10 ms, and every answer that it
allows is a line there: its epoch, and the fence's clock.
"""

import os
import sys
from pathlib import Path

from attrs import evolve, frozen
from twisted.application.service import IService
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.scripts.twistd import run

from rescriptum.agent.character import Character
from rescriptum.agent.config import SiteConfig
from rescriptum.agent.kinds import Context
from rescriptum.agent.service import AgentService
from rescriptum.contract.joining import Role
from rescriptum.contract.structure import JSON
from rescriptum.net.clocks import boottime
from rescriptum.roles import site

RAN, ANSWERS = "RESCRIPTUM_TEST_RAN", "RESCRIPTUM_TEST_ANSWERS"


@frozen
class Words:
    text: str = ""


def append(name: str, line: str) -> None:
    with Path(os.environ[name]).open("a") as file:
        file.write(line + "\n")


class Written:
    """Writes down that it ran."""

    name = "test.written"
    roles = frozenset({Role.SITE})
    destructive = False
    timeout_s = 30.0
    payload = Words

    def resource(self, payload: Words) -> str:
        return ""

    async def run(self, context: Context, payload: Words) -> JSON:
        append(RAN, context.command_id)
        return {"text": payload.text}


class Cleared(Written):
    """The same by the name of a kind that gateways know."""

    name = "boot.clear"


class Endless(Written):
    """Writes down that it ran, and does not end."""

    name = "test.endless"

    async def run(self, context: Context, payload: Words) -> JSON:
        append(RAN, context.command_id)
        await Deferred()
        return {}


class Secretive(Written):
    """Asks for a secret, and says how long it is."""

    name = "test.secret"

    async def run(self, context: Context, payload: Words) -> JSON:
        secret = await context.secret(payload.text)
        return {"characters": len(secret)}


def character(config: SiteConfig) -> Character:
    kinds = (Written(), Cleared(), Endless(), Secretive())
    return evolve(_character(config), kinds=kinds, boots=True)


def make_site(*arguments: object) -> IService:
    root = _make_site(*arguments)  # type: ignore[arg-type]
    agent = root.getServiceNamed("agent")  # type: ignore[attr-defined]
    assert isinstance(agent, AgentService)

    def ask() -> None:
        if agent.fence.is_open():
            append(ANSWERS, f"{agent.fence.epoch} {boottime():.3f}")
            agent.fence.sent()

    if ANSWERS in os.environ:
        LoopingCall(ask).start(0.01)
    return root


_character, _make_site = site.character, site.make_site

if __name__ == "__main__":
    site.character, site.make_site = character, make_site  # type: ignore[assignment]
    sys.argv[0] = "twistd"
    run()
