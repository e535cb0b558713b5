"""Which secret an agent may have, by the command that it runs and the epoch that it serves."""

from sqlalchemy import Connection

from ...contract.commands import Command
from ...contract.refusals import Rejected
from ...contract.sessions import SecretRequest
from ...contract.structure import parsed, structured
from ..records import CommandRow, CommandState
from ..stores import commands, events, leases, secrets, sessions

_RUNNING = (CommandState.DELIVERED, CommandState.JOURNALLED)


def release(
    connection: Connection, session: str, token_digest: str, asked: SecretRequest, now: int
) -> bytes:
    """
    :returns: the secret, sealed as it is stored.
    :raises Rejected: ``secret-refused`` for anything that this command's workflow does not name;
        ``stale-epoch`` for a token whose boot entry is another epoch's.
    """
    row = sessions.by_token(connection, session, token_digest)
    try:
        command = commands.get(connection, asked.command_id)
    except Rejected:
        raise Rejected("secret-refused", "there is no such command") from None
    if command.node != row.node:
        raise Rejected("secret-refused", "the command is another node's")
    if (command.workflow, command.step) != (asked.workflow, asked.step):
        raise Rejected("secret-refused", "the command is part of another workflow or step")
    if asked.ref not in command.secret_refs:
        raise Rejected("secret-refused", f"the workflow does not name {asked.ref}")
    if not _hands_over(command, asked.ref, now):
        if command.state not in _RUNNING:
            raise Rejected("secret-refused", f"the command is {command.state.value}")
    elif not leases.holds(connection, row.site, asked.epoch, row.id):
        raise Rejected("stale-epoch", f"this session does not hold epoch {asked.epoch}")
    sealed = secrets.get(connection, asked.ref)
    data = {"node": row.node, "secret": asked.ref, "epoch": asked.epoch}
    events.append(connection, "secret.released", row.site, command.id, data, now)
    return sealed


def _hands_over(command: CommandRow, ref: str, now: int) -> bool:
    """
    :returns: whether the secret is a token that a booting machine is handed: it is asked for when
        the machine boots, which is after the command has put its boot entry in place.
    :raises Rejected: once that entry has lapsed, or never was.
    """
    payload = structured(Command, parsed(command.claims)).payload
    if payload.get("token_ref") != ref:
        return False
    if command.state not in (*_RUNNING, CommandState.DONE):
        raise Rejected("secret-refused", f"the command is {command.state.value}")
    lapses = payload.get("not_after")
    if isinstance(lapses, int) and now >= lapses > 0:
        raise Rejected("secret-refused", "the boot entry has lapsed")
    return True
