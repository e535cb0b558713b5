"""A BMC in memory: documents by path, and what it does when asked; and a client that asks it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc.driver import Asked, Credential
from rescriptum.bmc.redfish.operations import perform
from rescriptum.bmc.redfish.quirks import QuirkProfile
from rescriptum.bmc.redfish.replies import Ask, Reply
from rescriptum.bmc.redfish.session import Session, talk
from rescriptum.contract.bmc import OPERATIONS, BmcRefusal
from rescriptum.values import Secret

ORIGIN, BASE = "https://bmc.example", "/redfish/v1"
SYSTEM = f"{BASE}/Systems/1"
MANAGER = f"{BASE}/Managers/1"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"
SESSIONS = f"{BASE}/SessionService/Sessions"
PASSWORD = "correct horse battery"
CREDENTIAL = Credential("admin", Secret(PASSWORD))

Json = dict[str, Any]
Handler = Callable[[Ask], Reply]


def reply(status: int = 200, document: object = None, **headers: str) -> Reply:
    """:param headers: with ``_`` for ``-``."""
    body = b"" if document is None else json.dumps(document).encode()
    return Reply(status, {name.replace("_", "-"): each for name, each in headers.items()}, body)


def said(name: str, words: str = "", *args: str) -> Json:
    """:returns: an error with one message."""
    info = {"MessageId": f"Base.1.0.{name}", "Message": words, "MessageArgs": list(args)}
    return {"error": {"@Message.ExtendedInfo": [info]}}


def linked(path: str) -> Json:
    return {"@odata.id": path}


def collection(*paths: str) -> Json:
    return {"Members": [linked(each) for each in paths]}


class MemoryBmc:
    """
    A transport to a BMC that there is not.

    :ivar documents: by path. :ivar doing: by method and path: a function, or replies in turn.
    :ivar sessions: what it does with sessions.
    :ivar asked: everything, but what is asked for sessions. :ivar opened: sessions that are open.
    """

    def __init__(self) -> None:
        self.time = 1000.0
        self.asked: list[Ask] = []
        self.paused: list[float] = []
        self.opened: set[str] = set()
        self.logins = 0
        self.password = PASSWORD
        self.doing: dict[tuple[str, str], Handler | Sequence[Reply | BmcRefusal]] = {}
        self.system: Json = {
            "PowerState": "Off",
            "Boot": {
                "BootSourceOverrideEnabled": "Disabled",
                "BootSourceOverrideTarget": "None",
                "BootSourceOverrideMode": "UEFI",
            },
            "Actions": {
                "#ComputerSystem.Reset": {
                    "target": RESET,
                    "ResetType@Redfish.AllowableValues": [
                        "On",
                        "ForceOff",
                        "GracefulShutdown",
                        "ForceRestart",
                        "PowerCycle",
                        "Nmi",
                    ],
                }
            },
            "Links": {"ManagedBy": [linked(MANAGER)]},
        }
        self.manager: Json = {"FirmwareVersion": "1.2"}
        self.root: Json = {
            "Vendor": "Example",
            "RedfishVersion": "1.9.0",
            "Systems": linked(f"{BASE}/Systems"),
            "Managers": linked(f"{BASE}/Managers"),
            "Links": {"Sessions": linked(SESSIONS)},
        }
        self.documents: dict[str, Json] = {
            f"{BASE}/": self.root,
            f"{BASE}/Systems": collection(SYSTEM),
            f"{BASE}/Managers": collection(MANAGER),
            SYSTEM: self.system,
            MANAGER: self.manager,
        }
        self.sessions: Handler = self.keep_sessions
        self.doing[("POST", RESET)] = self.reset
        self.doing[("PATCH", SYSTEM)] = self.change_boot

    # As a transport

    async def ask(self, ask: Ask, seconds: float) -> Reply:
        self.time += 0.01
        if ask.path.startswith(SESSIONS):
            return self.sessions(ask)
        self.asked.append(ask)
        doing = self.doing.get((ask.method, ask.path))
        if isinstance(doing, Sequence):
            return self._next(doing)
        if doing is not None:
            return doing(ask)
        if ask.method == "GET" and ask.path in self.documents:
            document = self.documents[ask.path]
            return reply(200, document)
        return reply(404)

    async def pause(self, seconds: float) -> None:
        self.paused.append(seconds)
        self.time += seconds

    def now(self) -> float:
        return self.time

    @staticmethod
    def _next(given: Sequence[Reply | BmcRefusal]) -> Reply:
        """:returns: the first; the last one for ever."""
        answer = given[0]
        if len(given) > 1 and isinstance(given, list):
            del given[0]
        if isinstance(answer, BmcRefusal):
            raise answer
        return answer

    def keep_sessions(self, ask: Ask) -> Reply:
        doing = self.doing.get((ask.method, ask.path))
        if isinstance(doing, Sequence):
            return self._next(doing)
        if ask.method == "DELETE":
            self.opened.discard(ask.path)
            return reply(204)
        if json.loads(ask.body or b"")["Password"] != self.password:
            return reply(401)
        self.logins += 1
        own = f"{SESSIONS}/{self.logins}"
        self.opened.add(own)
        return reply(201, {}, x_auth_token=f"token-{self.logins}", location=f"{ORIGIN}{own}")

    # What it does

    def reset(self, ask: Ask) -> Reply:
        states = {"On": "On", "ForceOn": "On", "ForceOff": "Off", "GracefulShutdown": "Off"}
        kind = self.body(ask)["ResetType"]
        self.system["PowerState"] = states.get(kind, self.system["PowerState"])
        return reply(204)

    def change_boot(self, ask: Ask) -> Reply:
        self.system["Boot"].update(self.body(ask)["Boot"])
        return reply(204)

    # What a test sees

    @staticmethod
    def body(ask: Ask) -> Json:
        made: Json = json.loads(ask.body or b"{}")
        return made

    def sent(self, method: str) -> list[tuple[str, Json]]:
        """:returns: path and body of each such request."""
        return [(each.path, self.body(each)) for each in self.asked if each.method == method]

    def resets(self) -> list[str]:
        return [body["ResetType"] for path, body in self.sent("POST") if path == RESET]


class RedfishCase(SynchronousTestCase):
    """One BMC in memory."""

    def setUp(self) -> None:
        self.bmc = MemoryBmc()
        self.profile = QuirkProfile()

    def session(
        self,
        credential: Credential | None = CREDENTIAL,
        seconds: float = 60,
        secrets: tuple[str, ...] = (),
    ) -> Session:
        return Session(self.bmc, ORIGIN, BASE, credential, self.profile, seconds, secrets)

    def run_operation(
        self,
        name: str,
        args: object = None,
        *,
        credential: Credential | None = CREDENTIAL,
        replacement: Credential | None = None,
        image_url: str = "",
        seconds: float = 60,
        system: str = "",
    ) -> dict[str, Any]:
        """:raises BmcRefusal: as the operation does. In any case no session is left."""
        asked = Asked(OPERATIONS[name], args, credential, replacement, image_url, seconds)
        held = (replacement.password.reveal(),) if replacement else ()
        session = self.session(credential, seconds, held)
        working = Deferred.fromCoroutine(talk(session, lambda each: perform(each, system, asked)))
        outcome: list[Any] = []
        working.addBoth(outcome.append)
        self.profile = session.profile
        self.assertEqual(self.bmc.opened, set())
        [made] = outcome
        if isinstance(made, Failure):
            made.raiseException()
        result: dict[str, Any] = made
        return result

    def refused(self, name: str, args: object = None, **more: Any) -> BmcRefusal:
        """:returns: why an operation did not come to pass."""
        error = self.assertRaises(BmcRefusal, self.run_operation, name, args, **more)
        assert isinstance(error, BmcRefusal)
        return error
