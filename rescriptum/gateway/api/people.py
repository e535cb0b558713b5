"""Operators, secrets, whom agents trust, and what has happened."""

import re
from typing import Final

from sqlalchemy import Connection

from ...contract.joining import TrustBundle
from ...contract.refusals import Rejected
from ..records import Operator, SecretRow
from ..stores import events, operators, secrets
from ..trust import set_trust, trust
from .call import Call, at
from .door import PREFIX, digest
from .feed import of
from .shapes.gateway import (
    Events,
    OperatorCreate,
    OperatorMade,
    Operators,
    Pins,
    Secret,
    Secrets,
    SecretSet,
)
from .shapes.gateway import Operator as Shown

_SEQ: Final = re.compile(r"[0-9]{1,15}", re.ASCII)


def me(connection: Connection, call: Call) -> Shown:
    """Whose token this is."""
    return _operator(call.operator)


def operator_list(connection: Connection, call: Call) -> Operators:
    """Who has a token."""
    page = operators.listing(connection, after=call.after, limit=call.limit)
    return Operators(tuple(_operator(each) for each in page.items), page.next)


def operator_create(connection: Connection, call: Call) -> OperatorMade:
    """Give somebody a token."""
    sent = call.sent(OperatorCreate)
    token = PREFIX + call.new_token()
    operators.create(connection, Operator(sent.name, digest(token), sent.scope, call.now))
    call.changed(connection, "operator.created", sent.name, None, scope=sent.scope.value)
    return OperatorMade(sent.name, sent.scope, token)


def operator_remove(connection: Connection, call: Call) -> None:
    """Take a token away."""
    operators.remove(connection, call.name, call.now)
    call.changed(connection, "operator.removed", call.name, None)


def secret_list(connection: Connection, call: Call) -> Secrets:
    """Names of secrets."""
    page = secrets.listing(connection, call.after, call.limit)
    return Secrets(tuple(_secret(each) for each in page.items), page.next)


def secret_set(connection: Connection, call: Call) -> None:
    """Set a secret."""
    value = call.sent(SecretSet).value.encode("utf-8")
    secrets.put(connection, call.name, call.means.seal(call.name, value), call.now)
    call.changed(connection, "secret.set", call.name, None)


def secret_remove(connection: Connection, call: Call) -> None:
    """Forget a secret."""
    secrets.remove(connection, call.name)
    call.changed(connection, "secret.removed", call.name, None)


def pins(connection: Connection, call: Call) -> Pins:
    """What agents have to pin."""
    return call.means.pins


def trust_show(connection: Connection, call: Call) -> TrustBundle:
    """Whom agents take commands from, once they join."""
    return trust(connection)


def trust_set(connection: Connection, call: Call) -> TrustBundle:
    """Say whom agents that join from now on take commands from."""
    bundle = call.sent(TrustBundle)
    set_trust(connection, bundle)
    call.changed(
        connection,
        "trust.set",
        "trust",
        None,
        command_roots=len(bundle.command_roots),
        approvers=len(bundle.approvers),
        quorum=bundle.quorum,
    )
    return bundle


def event_list(connection: Connection, call: Call) -> Events:
    """What has happened."""
    if call.after and not _SEQ.fullmatch(call.after):
        raise Rejected("invalid-message", "cursor: not the seq of an event")
    seq = int(call.after or 0)
    site, subject = call.filters.get("site"), call.filters.get("subject")
    found = events.after(connection, seq, site, subject, limit=call.limit)
    following = str(found[-1].seq if found else seq)
    return Events(tuple(of(each) for each in found), following)


def _operator(row: Operator) -> Shown:
    return Shown(row.name, row.scope, at(row.created_at))


def _secret(row: SecretRow) -> Secret:
    return Secret(row.name, at(row.created_at), at(row.changed_at))
