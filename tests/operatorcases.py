"""What tests of the operators' API have in common: a gateway's store, three operators, a door."""

import json
from functools import cache, partial
from typing import Any

from jsonschema import Draft202012Validator
from sqlalchemy import Connection
from twisted.internet.task import Clock

from rescriptum.contract.jose import digest
from rescriptum.contract.refusals import REFUSALS
from rescriptum.contract.structure import JSON
from rescriptum.gateway.api import openapi
from rescriptum.gateway.api.call import Means
from rescriptum.gateway.api.feed import Feed
from rescriptum.gateway.api.operations import BY_NAME, Operation
from rescriptum.gateway.api.resource import Operators
from rescriptum.gateway.api.shapes.gateway import Pins
from rescriptum.gateway.records import Event, Operator, Scope, Workflow
from rescriptum.gateway.signing import Worker
from rescriptum.gateway.stores import events, operators, workflows
from rescriptum.gateway.stores.telling import Topic
from tests.gateway_stores import NOW, OverSQLite
from tests.webclient import PEER, Told, ask

VERSION = "1.2.3"
PINS = Pins("gateway.example", "sha256/a", "sha256/b", "sha256/c")
#: By scope: whose token it is, too.
TOKENS = {scope: f"token-of-{scope.value}" for scope in Scope}


class MemoryNotices:
    """Satisfies :class:`rescriptum.gateway.api.feed.Notices`: a test tells what has changed."""

    def __init__(self) -> None:
        self.callbacks: dict[Topic, list[Any]] = {}

    def subscribe(self, topic: Topic, callback: Any) -> Any:
        self.callbacks.setdefault(topic, []).append(callback)
        return lambda: self.callbacks[topic].remove(callback)

    def tell(self, topic: Topic, key: str = "") -> None:
        for each in tuple(self.callbacks.get(topic, ())):
            each(key)


@cache
def document() -> JSON:
    return openapi.document(VERSION)


def validator(schema: object) -> Draft202012Validator:
    """:returns: of a schema of the document, wherever its references lead."""
    assert isinstance(schema, dict)
    return Draft202012Validator({**schema, "components": document()["components"]})


class OperatorCase(OverSQLite):
    """A gateway with an operator of each scope; every reply is held against the document."""

    def setUp(self) -> None:
        super().setUp()
        self.clock = Clock()
        self.clock.advance(1000)
        self.notices = MemoryNotices()
        self.feed = Feed(self.database, self.notices, self.clock, self.now, VERSION)
        self.feed.start()
        self.addCleanup(self.feed.stop)
        self.worker: Worker | None = None
        self.drawn = 0
        self.means = Means(
            now=self.now,
            monotonic=self.clock.seconds,
            octets=self.octets,
            pins=PINS,
            seal=lambda name, value: f"sealed {name} ".encode() + bytes(reversed(value)),
            worker=lambda: self.worker,
            start=self.begun,
            cancel=workflows.cancel,
            version=VERSION,
        )
        self.operators = Operators(self.database, self.feed, self.means)
        for scope, token in TOKENS.items():
            row = Operator(scope.value, digest(token.encode()), scope, NOW)
            self.do(partial(operators.create, operator=row))

    def now(self) -> float:
        return NOW + self.clock.seconds() - 1000

    def octets(self, count: int) -> bytes:
        self.drawn += 1
        return self.drawn.to_bytes(count, "big")

    def begun(
        self,
        connection: Connection,
        kind: str,
        machine: str,
        parameters: JSON,
        operator: str,
        now: int,
    ) -> Workflow:
        """A fake of what begins workflows: of one step."""
        row = Workflow(f"wf-{kind}", kind, "ber", machine, parameters, operator, now)
        workflows.add(connection, row, [])
        return row

    def asked(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = TOKENS[Scope.ADMIN],
        headers: tuple[tuple[str, str], ...] = (),
        peer: tuple[str, int] = PEER,
    ) -> Told:
        """:returns: what is told of a request, whatever the table of operations says of it."""
        if token is not None:
            headers = (("authorization", f"Bearer {token}"), *headers)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return ask(
            self.operators,
            f"/api/v1/{path}",
            method=method,
            headers=headers,
            body=b"" if body is None else data,
            peer=peer,
        )

    def call(
        self,
        name: str,
        *captures: str,
        body: object = None,
        query: str = "",
        status: int | None = None,
        **how: Any,
    ) -> Any:
        """
        Ask for an operation by its name.

        :param status: that it must have; None: that of the table.
        :returns: the body of the reply, which fits the document.
        """
        operation = BY_NAME[name]
        path = operation.path
        for capture in captures:
            head, _, tail = path.partition("<")
            path = head + capture + tail.partition(">")[2]
        told = self.asked(operation.method, path + query, body, **how)
        self.assertEqual(told.status, operation.status if status is None else status, told.body)
        return self.fitting(operation, told)

    def fitting(self, operation: Operation, told: Told) -> Any:
        path = "/" + "/".join(("api", "v1", operation.path.replace("<", "{").replace(">", "}")))
        paths = document()["paths"]
        assert isinstance(paths, dict)
        responses = paths[path][operation.method.lower()]["responses"]
        self.assertIn(str(told.status), responses, operation.name)
        content = responses[str(told.status)].get("content")
        if content is None:
            self.assertEqual(told.body, b"")
            return None
        said = json.loads(told.body)
        validator(content["application/json"]["schema"]).validate(said)
        return said

    def refusal(self, name: str, *captures: str, code: str, **how: Any) -> Any:
        """:returns: what an operation is refused with, which the document has."""
        operation = BY_NAME[name]
        self.assertIn(code, openapi.refusals(operation), name)
        said = self.call(name, *captures, status=REFUSALS[code].status, **how)
        self.assertEqual(said["code"], code, said)
        self.assertTrue(said["advice"])
        return said["detail"]

    def happened(self) -> list[Event]:
        return self.do(lambda connection: events.after(connection, 0, limit=1000))
