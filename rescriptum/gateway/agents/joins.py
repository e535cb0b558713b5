"""One transaction that makes a node: the token is used by it, or nothing has happened."""

from attrs import frozen
from sqlalchemy import Connection

from ...contract.joining import Role, TrustBundle
from ...contract.keys import public_jwk, public_key
from ...contract.refusals import Rejected
from ...contract.structure import JSON
from ..joining import Applicant, attested, attestor_fits, has_mac
from ..records import JoinTokenRow, Node
from ..stores import events, leases, machines, nodes, tokens
from ..stores.telling import notify
from ..trust import trust


@frozen
class Admitted:
    """Whom an applicant has become, and whom it takes commands from."""

    node: Node
    trust: TrustBundle


def admit(connection: Connection, who: Applicant, node_id: str, now: int) -> Admitted:
    """
    :param node_id: of the node, where a new one is made.
    :raises Rejected: at the first step that fails.
    """
    before = _before(connection, who)
    if before is not None:
        return Admitted(before, trust(connection))
    request = who.request
    token = tokens.use(connection, who.token_digest, request.site, request.role, node_id, now)
    attestor_fits(request.attestor, token.machine)
    if token.machine is not None:
        _vouched(connection, who, token.machine, now)
    node = Node(
        id=node_id,
        site=request.site,
        role=request.role,
        jwk=JSON(public_jwk(who.key)),
        jkt=who.jkt,
        machine=token.machine,
        joined_at=now,
        boot_id=request.boot_id,
        inventory=request.inventory,
    )
    nodes.add(connection, node)
    _told(connection, node, token, now)
    return Admitted(node, trust(connection))


def _before(connection: Connection, who: Applicant) -> Node | None:
    """
    :returns: the node that this very key has become by this very token: its agent never had the
        answer, and asks again.
    """
    node = nodes.by_jkt(connection, who.jkt)
    if node is None or node.removed_at is not None:
        return None
    token = tokens.get(connection, who.token_digest)
    if token is None or token.node != node.id or token.site != who.request.site:
        return None
    return node if node.role is who.request.role else None


def _vouched(connection: Connection, who: Applicant, machine: str, now: int) -> None:
    """A site agent saw the machine boot while it held the boot lease, and gave it this token."""
    site = who.request.site
    agents = nodes.listing(connection, site, Role.SITE, limit=1000).items
    keys = {each.jkt: public_key(each.jwk, "Ed25519") for each in agents}
    kid, assertion = attested(who, keys, now)
    node = next(each for each in agents if each.jkt == kid)
    if leases.holder_of(connection, site, assertion.epoch) != node.id:
        raise Rejected("stale-epoch", f"{node.id} did not hold epoch {assertion.epoch}")
    if not has_mac(machines.get(connection, machine).macs, assertion.mac):
        raise Rejected("bad-assertion", f"{assertion.mac[:40]} is not of machine {machine}")


def _told(connection: Connection, node: Node, token: JoinTokenRow, now: int) -> None:
    data: JSON = {"role": node.role.value, "machine": node.machine}
    events.append(connection, "node.joined", node.site, node.id, data, now)
    if token.workflow is not None:
        notify(connection, "workflows", token.workflow)
