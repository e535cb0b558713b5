"""A gateway as a process of its own, and agents and operators who ask it, byte by byte."""

import json
import shutil
import ssl
import time
from collections.abc import Iterator
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Self

from attrs import define, field
from twisted.internet.defer import Deferred

from rescriptum.contract.joining import Attestor, JoinAnswer, JoinRequest, Keys, Role
from rescriptum.contract.jose import digest, opened, seal, sign
from rescriptum.contract.keys import Key, generate, public_jwk, public_key, trusted
from rescriptum.contract.structure import JSON, plain, rendered, structured
from rescriptum.gateway.records import Operator, Scope
from rescriptum.gateway.stores import operators
from rescriptum.gateway.stores.database import Database
from rescriptum.testing import MemoryWorkers
from tests.processes import Process, free_port

OPERATOR = "rsop_functional-tests"
_SECONDS = 20


@define
class Answer:
    """:ivar body: as JSON has it."""

    status: int
    body: JSON
    headers: dict[str, str]

    @property
    def code(self) -> str:
        """Of a refusal."""
        return str(self.body["code"])


class Gateway:
    """
    One gateway process.

    :ivar here: a directory of its own; ``data`` is below it.
    """

    def __init__(self, here: Path, database_url: str | None = None, **settings: object) -> None:
        """:param database_url: None: SQLite in ``data``."""
        here.mkdir(parents=True, exist_ok=True)
        self.here = here
        self.database_url = database_url or f"sqlite:///{here / 'data' / 'gateway.db'}"
        self.port = free_port()
        self.config = here / "gateway.toml"
        lines = {"listen": f"127.0.0.1:{self.port}", "data_dir": str(here / "data"), **settings}
        if database_url is not None:
            lines["database_url"] = database_url
        # A JSON value of these kinds is a TOML value too.
        self.config.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in lines.items()))
        self.config.chmod(0o600)
        self.process: Process | None = None

    def start(self) -> Self:
        """:returns: when it listens."""
        self.process = Process(self.here, "gateway", "--config", str(self.config))
        self.process.wait_for("gateway listens on")
        return self

    def beside(self, here: Path) -> "Gateway":
        """:returns: another process of the same gateway: the same database, the same keys."""
        made = Gateway(here, self.database_url)
        (here / "data").mkdir(mode=0o700)
        shutil.copytree(self.here / "data" / "keys", here / "data" / "keys")
        return made

    def kill(self) -> None:
        """At once, as a power cut does it."""
        assert self.process is not None
        self.process.process.kill()
        self.process.exited()

    @property
    def text(self) -> str:
        assert self.process is not None
        return self.process.text

    def admit_operator(self) -> Self:
        """Somebody who may do everything: beside the process, in its database."""
        database = Database(self.database_url, MemoryWorkers())
        database.open()
        row = Operator("tests", digest(OPERATOR.encode()), Scope.ADMIN, int(time.time()))
        adding = Deferred.fromCoroutine(database.run(lambda c: operators.create(c, row)))
        adding.addErrback(lambda failure: failure.raiseException())
        Deferred.fromCoroutine(database.close())
        return self

    def context(self) -> ssl.SSLContext:
        """:returns: which trusts the CA of this gateway, and nobody else."""
        pem = (self.here / "data" / "keys" / "serving-ca.pem").read_text()
        return ssl.create_default_context(cadata=pem[pem.index("-----BEGIN CERTIFICATE") :])

    def connect(self) -> HTTPSConnection:
        return HTTPSConnection("127.0.0.1", self.port, timeout=_SECONDS, context=self.context())

    def ask(self, method: str, path: str, body: object = None, token: str | None = None) -> Answer:
        connection = self.connect()
        try:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            data = body if isinstance(body, bytes) else None if body is None else rendered(body)
            connection.request(method, path, data, headers)
            reply = connection.getresponse()
            text = reply.read()
            made = json.loads(text) if text else {}
            return Answer(reply.status, made, {k.lower(): v for k, v in reply.getheaders()})
        finally:
            connection.close()

    def operate(self, method: str, path: str, body: object = None) -> JSON:
        """:returns: what an operator is told who may do everything."""
        answer = self.ask(method, f"/api/v1/{path}", body, OPERATOR)
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.body}")
        return answer.body

    def token(self, site: str = "lab", role: Role = Role.SITE) -> str:
        return str(self.operate("POST", "tokens", {"site": site, "role": role.value})["token"])


class Frames:
    """A stream of frames, as far as it was read."""

    def __init__(self, connection: HTTPSConnection, reply: HTTPResponse) -> None:
        self._connection = connection
        self._reply = reply
        self.last: JSON = {}

    def __iter__(self) -> Iterator[JSON]:
        """Until the gateway ends it, or says nothing for too long."""
        while line := self._reply.readline():
            self.last = json.loads(line)
            yield self.last

    def until(self, kind: str) -> JSON:
        """:returns: the next frame of that type."""
        for frame in self:
            if frame["type"] == kind:
                return frame
        raise AssertionError(f"no {kind}; the last frame was {self.last}")

    def lease(self, active: bool) -> JSON:
        """:returns: the next lease section that says so."""
        for frame in self:
            if frame["type"] == "desired":
                section: JSON = frame["spec"]["site"]["lease"]  # type: ignore[index]
                if section["active"] is active:
                    return section
        raise AssertionError(f"the lease never was {active}; the last frame was {self.last}")

    def close(self) -> None:
        self._reply.close()
        self._connection.close()


@define
class Agent:
    """
    What an agent is to its gateway.

    :ivar session: and ``token``: of its newest session.
    """

    gateway: Gateway
    site: str = "lab"
    role: Role = Role.SITE
    key: Key = field(factory=lambda: generate("Ed25519"))
    node: str = ""
    session: str = ""
    token: str = ""
    beat: int = 100
    _nonces: int = field(default=0, init=False)

    def nonce(self) -> str:
        self._nonces += 1
        return f"{self.key.thumbprint()}-{self._nonces}-{time.time_ns()}"

    def request(self, token: str, /, **changes: object) -> JSON:
        """:returns: what it joins with."""
        keys = structured(Keys, self.gateway.ask("GET", "/v1/keys").body)
        now, nonce, jkt = int(time.time()), self.nonce(), self.key.thumbprint()
        sealed = seal(
            {
                "token": token,
                "site": self.site,
                "role": self.role.value,
                "jkt": jkt,
                "nonce": nonce,
                "issued_at": now,
            },
            public_key(keys.encryption, "X25519"),
        )
        said = {
            "jkt": jkt,
            "nonce": nonce,
            "token_digest": digest(sealed.encode()),
            "issued_at": now,
        }
        made = JoinRequest(
            self.role,
            self.site,
            Attestor.TOKEN,
            sealed,
            sign("joining", said, self.key),
            JSON(public_jwk(self.key)),
            "boot-1",
        )
        return {**plain(made), **changes}

    def join(self, token: str) -> JoinAnswer:
        keys = structured(Keys, self.gateway.ask("GET", "/v1/keys").body)
        answer = self.gateway.ask("POST", "/v1/join", self.request(token))
        if answer.status != 200:
            raise AssertionError(f"{answer.status} {answer.body}")
        signing = trusted(public_key(keys.signing, "Ed25519"))
        said = structured(JoinAnswer, opened("join", answer.body["answer"], signing).claims)
        self.node = said.node_id
        return said

    def said(self, **changes: object) -> JSON:
        """:returns: a Hello."""
        return {
            "node_id": self.node,
            "role": self.role.value,
            "site": self.site,
            "boot_id": "boot-1",
            "version": "0",
            "audience": "127.0.0.1",
            "nonce": self.nonce(),
            "issued_at": int(time.time()),
            "boots": True,
            **changes,
        }

    def hello(self, **changes: object) -> Answer:
        text = sign("hello", self.said(**changes), self.key)
        answer = self.gateway.ask("POST", "/v1/sessions", {"hello": text})
        if answer.status == 200:
            self.session, self.token = str(answer.body["session"]), str(answer.body["token"])
        return answer

    def frames(self) -> Frames:
        connection = self.gateway.connect()
        path = f"/v1/sessions/{self.session}/frames"
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise AssertionError(f"{reply.status} {reply.read()!r}")
        return Frames(connection, reply)

    def say(self, *frames: JSON) -> Answer:
        path = f"/v1/sessions/{self.session}/frames"
        return self.gateway.ask("POST", path, list(frames), self.token)

    def heartbeat(self, epoch: int = 0) -> JSON | None:
        """:returns: what was acknowledged."""
        self.beat += 1
        answer = self.say({"type": "heartbeat", "beat": self.beat, "epoch": epoch})
        if answer.status != 200:
            raise AssertionError(f"{answer.status} {answer.body}")
        ack = answer.body["ack"]
        return ack if isinstance(ack, dict) else None
