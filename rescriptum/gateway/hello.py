"""Hello: whether it is this node that wants a session, now, and of this gateway."""

from collections.abc import Container

from attrs import frozen

from ..contract.joining import Role
from ..contract.jose import opened
from ..contract.keys import Key, trusted
from ..contract.refusals import Rejected
from ..contract.sessions import Hello
from ..contract.structure import structured
from .joining import in_time


@frozen
class Known:
    """What the gateway knows of a node."""

    node_id: str
    site: str
    role: Role
    key: Key


def greeted(text: str, node: Known, names: Container[str], now: int) -> Hello:
    """
    :param names: what the gateway is called, in lower case.
    :returns: what ``node`` has signed; whether the nonce is new is the store's to say.
    :raises Rejected: at the first step that fails.
    """
    hello = structured(Hello, opened("hello", text, trusted(node.key)).claims)
    if hello.node_id != node.node_id:
        raise Rejected("key-mismatch", "signed by the key of another node")
    if hello.site != node.site:
        raise Rejected("wrong-site", f"the node belongs to {node.site}")
    if hello.role is not node.role:
        raise Rejected("wrong-role", f"the node joined as {node.role.value}")
    if hello.audience.lower() not in names:
        raise Rejected("wrong-audience", f"for {hello.audience[:80]}")
    in_time(hello.issued_at, now)
    return hello
