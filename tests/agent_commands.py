"""Commands as tests of the agent want them."""

from rescriptum.contract.commands import Command
from rescriptum.contract.structure import JSON, rendered

NOW = 1_700_000_000


def command(
    command_id: str = "c1", kind: str = "test.echo", not_after: int = NOW + 600, **payload: object
) -> Command:
    return Command(
        command_id=command_id,
        node_id="n1",
        kind=kind,
        payload=JSON(payload),
        workflow="w1",
        step="s1",
        issued_at=NOW,
        not_after=not_after,
    )


def octets(of: Command) -> bytes:
    """:returns: its claims as they travel."""
    return rendered(of)


def digest(of: Command) -> str:
    """:returns: something that stands for it."""
    return f"sha256:{of.command_id}"
