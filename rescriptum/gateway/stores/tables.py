"""
The gateway's tables, for SQLite and PostgreSQL alike.

Times are Unix seconds. ``lease`` alone decides who boots machines at a site; no time is in it.
"""

from typing import Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import VARCHAR

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# In the order of their octets, on either database: so pages of a listing are the same ones.
_NAME = String(128).with_variant(VARCHAR(128, collation="C"), "postgresql")
# Where None is no document, and not the document null.
_ABSENT = JSON(none_as_null=True)

sites: Final = Table(
    "sites",
    metadata,
    Column("name", _NAME, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("ttl_ms", Integer, nullable=False),  # of the next epoch
    Column("wanted_node", _NAME),  # who is to hold the boot lease, if anybody in particular
    Column("labels", JSON, nullable=False),
)

#: One row a site, changed by compare-and-swap only.
lease: Final = Table(
    "lease",
    metadata,
    Column("site", _NAME, ForeignKey("sites.name"), primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", _NAME),  # a session, never a node
    Column("holder_node", _NAME),
    Column("beat", BigInteger, nullable=False),
    Column("ttl_ms", Integer, nullable=False),  # of this epoch
)

lease_history: Final = Table(
    "lease_history",
    metadata,
    Column("site", _NAME, ForeignKey("sites.name"), primary_key=True),
    Column("epoch", BigInteger, primary_key=True),
    Column("node", _NAME, nullable=False),
    Column("granted_at", BigInteger, nullable=False),
)

join_tokens: Final = Table(
    "join_tokens",
    metadata,
    Column("digest", _NAME, primary_key=True),
    Column("site", _NAME, ForeignKey("sites.name"), nullable=False),
    Column("role", _NAME, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger),
    Column("node", _NAME),  # whom it made
    Column("machine", _NAME),  # of discovery tokens: whom it is for
    Column("workflow", _NAME),
)

nodes: Final = Table(
    "nodes",
    metadata,
    Column("id", _NAME, primary_key=True),
    Column("site", _NAME, ForeignKey("sites.name"), nullable=False, index=True),
    Column("role", _NAME, nullable=False),
    Column("jwk", JSON, nullable=False),
    Column("jkt", _NAME, nullable=False, unique=True),
    Column("machine", _NAME),
    Column("joined_at", BigInteger, nullable=False),
    Column("removed_at", BigInteger),
    Column("version", _NAME, nullable=False),  # of the agent, as of its last Hello
    Column("boot_id", _NAME, nullable=False),
    Column("kinds", JSON, nullable=False),
    Column("drivers", JSON, nullable=False),
    Column("labels", JSON, nullable=False),
    Column("desired_version", BigInteger, nullable=False),
    Column("sections", JSON, nullable=False),  # its last status
    Column("inventory", _ABSENT),
    Column("reported_at", BigInteger),
)

#: Of Hello: each is accepted once.
nonces: Final = Table(
    "nonces",
    metadata,
    Column("node", _NAME, primary_key=True),
    Column("nonce", _NAME, primary_key=True),
    Column("expires_at", BigInteger, nullable=False, index=True),
)

sessions: Final = Table(
    "sessions",
    metadata,
    Column("id", _NAME, primary_key=True),
    Column("node", _NAME, ForeignKey("nodes.id"), nullable=False, index=True),
    Column("site", _NAME, nullable=False, index=True),
    Column("token_digest", _NAME, nullable=False),
    Column("process", _NAME, nullable=False),  # which gateway process has its stream
    Column("boots", Boolean, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("heard_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("reason", _NAME),
)

#: Gateway processes: one whose beat stands still is gone, and its work is taken over.
processes: Final = Table(
    "processes",
    metadata,
    Column("id", _NAME, primary_key=True),
    Column("beat", BigInteger, nullable=False),
    Column("started_at", BigInteger, nullable=False),
)

discovered: Final = Table(
    "discovered",
    metadata,
    Column("site", _NAME, ForeignKey("sites.name"), primary_key=True),
    Column("mac", _NAME, primary_key=True),
    Column("uuid", _NAME, nullable=False),
    Column("arch", _NAME, nullable=False),
    Column("ip", _NAME, nullable=False),
    Column("first_seen_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
)

machines: Final = Table(
    "machines",
    metadata,
    Column("name", _NAME, primary_key=True),
    Column("site", _NAME, ForeignKey("sites.name"), nullable=False, index=True),
    Column("uuid", _NAME, nullable=False),
    Column("bmc_address", String(255), nullable=False),  # empty: it has none
    Column("bmc_driver", _NAME, nullable=False),
    Column("bmc_pin", _NAME, nullable=False),
    Column("bmc_username", _NAME, nullable=False),
    Column("credential_ref", _NAME, nullable=False),
    Column("labels", JSON, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
)

machine_macs: Final = Table(
    "machine_macs",
    metadata,
    Column("mac", _NAME, primary_key=True),
    Column("machine", _NAME, ForeignKey("machines.name"), nullable=False, index=True),
    Column("position", Integer, nullable=False),
)

#: What requests may be made to, in the order in which it was written down.
machine_addresses: Final = Table(
    "machine_addresses",
    metadata,
    Column("machine", _NAME, ForeignKey("machines.name"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("address", _NAME, nullable=False),
)

secrets: Final = Table(
    "secrets",
    metadata,
    Column("name", _NAME, primary_key=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

images: Final = Table(
    "images",
    metadata,
    Column("name", _NAME, primary_key=True),
    Column("sha256", _NAME, nullable=False),
    Column("url", Text, nullable=False),
    Column("format", _NAME, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
)

#: Which sites are to have an image in their cache.
image_sites: Final = Table(
    "image_sites",
    metadata,
    Column("image", _NAME, ForeignKey("images.name"), primary_key=True),
    Column("site", _NAME, ForeignKey("sites.name"), primary_key=True),
)

commands: Final = Table(
    "commands",
    metadata,
    Column("id", _NAME, primary_key=True),
    Column("node", _NAME, ForeignKey("nodes.id"), nullable=False),
    Column("kind", _NAME, nullable=False),
    Column("workflow", _NAME, nullable=False, index=True),
    Column("step", _NAME, nullable=False),
    Column("claims", LargeBinary, nullable=False),  # the octets that are signed
    Column("digest", _NAME, nullable=False),
    Column("envelope", JSON, nullable=False),
    Column("batch", _NAME, index=True),  # of destructive ones
    Column("attested", Boolean, nullable=False),
    Column("secret_refs", JSON, nullable=False),  # what its agent may ask for
    Column("state", _NAME, nullable=False),
    Column("issued_at", BigInteger, nullable=False),
    Column("not_after", BigInteger, nullable=False),
    Column("delivered_at", BigInteger),
    Column("journalled_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("result", _ABSENT),
    Column("attestation", Text),
    Column("progress", _ABSENT),
    Index(None, "node", "state"),
)

batches: Final = Table(
    "batches",
    metadata,
    Column("id", _NAME, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("about", Text, nullable=False),  # for the people who approve
)

approvals: Final = Table(
    "approvals",
    metadata,
    Column("batch", _NAME, ForeignKey("batches.id"), primary_key=True),
    Column("approver", _NAME, primary_key=True),  # thumbprint
    Column("signed", Text, nullable=False),
    Column("not_after", BigInteger, nullable=False),
    Column("given_at", BigInteger, nullable=False),
)

workflows: Final = Table(
    "workflows",
    metadata,
    Column("id", _NAME, primary_key=True),
    Column("kind", _NAME, nullable=False),
    Column("site", _NAME, nullable=False, index=True),
    Column("machine", _NAME, index=True),
    Column("parameters", JSON, nullable=False),
    Column("state", _NAME, nullable=False, index=True),
    Column("step", Integer, nullable=False),  # number of the one that is under way
    Column("reason", Text, nullable=False),
    Column("operator", _NAME, nullable=False),
    Column("process", _NAME),  # who carries it on
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
)

workflow_steps: Final = Table(
    "workflow_steps",
    metadata,
    Column("workflow", _NAME, ForeignKey("workflows.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("name", _NAME, nullable=False),
    Column("state", _NAME, nullable=False),
    Column("command", _NAME),
    Column("detail", JSON, nullable=False),
    Column("reason", Text, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
)

#: What happened, for whoever follows; old ones are forgotten.
events: Final = Table(
    "events",
    metadata,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("kind", _NAME, nullable=False),
    Column("site", _NAME, index=True),
    Column("subject", _NAME, nullable=False, index=True),
    Column("data", JSON, nullable=False),
    sqlite_autoincrement=True,
)

operators: Final = Table(
    "operators",
    metadata,
    Column("name", _NAME, primary_key=True),
    Column("token_digest", _NAME, nullable=False, unique=True),
    Column("scope", _NAME, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("removed_at", BigInteger),
)

#: What all processes of one gateway agree on.
settings: Final = Table(
    "settings",
    metadata,
    Column("name", _NAME, primary_key=True),
    Column("value", JSON, nullable=False),
)
