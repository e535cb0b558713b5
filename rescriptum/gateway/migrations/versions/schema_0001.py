"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NAME = sa.String(128).with_variant(sa.VARCHAR(128, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("id", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("site", NAME, nullable=True),
        sa.Column("subject", NAME, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_site"), ["site"], unique=False)
        batch_op.create_index(batch_op.f("ix_events_subject"), ["subject"], unique=False)

    op.create_table(
        "images",
        sa.Column("name", NAME, nullable=False),
        sa.Column("sha256", NAME, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("format", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_images")),
    )
    op.create_table(
        "nonces",
        sa.Column("node", NAME, nullable=False),
        sa.Column("nonce", NAME, nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("node", "nonce", name=op.f("pk_nonces")),
    )
    with op.batch_alter_table("nonces", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_nonces_expires_at"), ["expires_at"], unique=False)

    op.create_table(
        "operators",
        sa.Column("name", NAME, nullable=False),
        sa.Column("token_digest", NAME, nullable=False),
        sa.Column("scope", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_operators")),
        sa.UniqueConstraint("token_digest", name=op.f("uq_operators_token_digest")),
    )
    op.create_table(
        "processes",
        sa.Column("id", NAME, nullable=False),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_processes")),
    )
    op.create_table(
        "secrets",
        sa.Column("name", NAME, nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secrets")),
    )
    op.create_table(
        "settings",
        sa.Column("name", NAME, nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
    )
    op.create_table(
        "sites",
        sa.Column("name", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ttl_ms", sa.Integer(), nullable=False),
        sa.Column("wanted_node", NAME, nullable=True),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sites")),
    )
    op.create_table(
        "workflows",
        sa.Column("id", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("site", NAME, nullable=False),
        sa.Column("machine", NAME, nullable=True),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("operator", NAME, nullable=False),
        sa.Column("process", NAME, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflows")),
    )
    with op.batch_alter_table("workflows", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_workflows_machine"), ["machine"], unique=False)
        batch_op.create_index(batch_op.f("ix_workflows_site"), ["site"], unique=False)
        batch_op.create_index(batch_op.f("ix_workflows_state"), ["state"], unique=False)

    op.create_table(
        "approvals",
        sa.Column("batch", NAME, nullable=False),
        sa.Column("approver", NAME, nullable=False),
        sa.Column("signed", sa.Text(), nullable=False),
        sa.Column("not_after", sa.BigInteger(), nullable=False),
        sa.Column("given_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["batch"], ["batches.id"], name=op.f("fk_approvals_batch")),
        sa.PrimaryKeyConstraint("batch", "approver", name=op.f("pk_approvals")),
    )
    op.create_table(
        "discovered",
        sa.Column("site", NAME, nullable=False),
        sa.Column("mac", NAME, nullable=False),
        sa.Column("uuid", NAME, nullable=False),
        sa.Column("arch", NAME, nullable=False),
        sa.Column("ip", NAME, nullable=False),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["site"], ["sites.name"], name=op.f("fk_discovered_site")),
        sa.PrimaryKeyConstraint("site", "mac", name=op.f("pk_discovered")),
    )
    op.create_table(
        "image_sites",
        sa.Column("image", NAME, nullable=False),
        sa.Column("site", NAME, nullable=False),
        sa.ForeignKeyConstraint(["image"], ["images.name"], name=op.f("fk_image_sites_image")),
        sa.ForeignKeyConstraint(["site"], ["sites.name"], name=op.f("fk_image_sites_site")),
        sa.PrimaryKeyConstraint("image", "site", name=op.f("pk_image_sites")),
    )
    op.create_table(
        "join_tokens",
        sa.Column("digest", NAME, nullable=False),
        sa.Column("site", NAME, nullable=False),
        sa.Column("role", NAME, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.Column("node", NAME, nullable=True),
        sa.Column("machine", NAME, nullable=True),
        sa.Column("workflow", NAME, nullable=True),
        sa.ForeignKeyConstraint(["site"], ["sites.name"], name=op.f("fk_join_tokens_site")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_join_tokens")),
    )
    op.create_table(
        "lease",
        sa.Column("site", NAME, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("holder", NAME, nullable=True),
        sa.Column("holder_node", NAME, nullable=True),
        sa.Column("beat", sa.BigInteger(), nullable=False),
        sa.Column("ttl_ms", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["site"], ["sites.name"], name=op.f("fk_lease_site")),
        sa.PrimaryKeyConstraint("site", name=op.f("pk_lease")),
    )
    op.create_table(
        "lease_history",
        sa.Column("site", NAME, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("node", NAME, nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["site"], ["sites.name"], name=op.f("fk_lease_history_site")),
        sa.PrimaryKeyConstraint("site", "epoch", name=op.f("pk_lease_history")),
    )
    op.create_table(
        "machines",
        sa.Column("name", NAME, nullable=False),
        sa.Column("site", NAME, nullable=False),
        sa.Column("uuid", NAME, nullable=False),
        sa.Column("bmc_address", sa.String(length=255), nullable=False),
        sa.Column("bmc_driver", NAME, nullable=False),
        sa.Column("bmc_pin", NAME, nullable=False),
        sa.Column("bmc_username", NAME, nullable=False),
        sa.Column("credential_ref", NAME, nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["site"], ["sites.name"], name=op.f("fk_machines_site")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_machines")),
    )
    with op.batch_alter_table("machines", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_machines_site"), ["site"], unique=False)

    op.create_table(
        "nodes",
        sa.Column("id", NAME, nullable=False),
        sa.Column("site", NAME, nullable=False),
        sa.Column("role", NAME, nullable=False),
        sa.Column("jwk", sa.JSON(), nullable=False),
        sa.Column("jkt", NAME, nullable=False),
        sa.Column("machine", NAME, nullable=True),
        sa.Column("joined_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.Column("version", NAME, nullable=False),
        sa.Column("boot_id", NAME, nullable=False),
        sa.Column("kinds", sa.JSON(), nullable=False),
        sa.Column("drivers", sa.JSON(), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("desired_version", sa.BigInteger(), nullable=False),
        sa.Column("sections", sa.JSON(), nullable=False),
        sa.Column("inventory", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("reported_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["site"], ["sites.name"], name=op.f("fk_nodes_site")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
        sa.UniqueConstraint("jkt", name=op.f("uq_nodes_jkt")),
    )
    with op.batch_alter_table("nodes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_nodes_site"), ["site"], unique=False)

    op.create_table(
        "workflow_steps",
        sa.Column("workflow", NAME, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", NAME, nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("command", NAME, nullable=True),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workflow"], ["workflows.id"], name=op.f("fk_workflow_steps_workflow")
        ),
        sa.PrimaryKeyConstraint("workflow", "number", name=op.f("pk_workflow_steps")),
    )
    op.create_table(
        "commands",
        sa.Column("id", NAME, nullable=False),
        sa.Column("node", NAME, nullable=False),
        sa.Column("kind", NAME, nullable=False),
        sa.Column("workflow", NAME, nullable=False),
        sa.Column("step", NAME, nullable=False),
        sa.Column("claims", sa.LargeBinary(), nullable=False),
        sa.Column("digest", NAME, nullable=False),
        sa.Column("envelope", sa.JSON(), nullable=False),
        sa.Column("batch", NAME, nullable=True),
        sa.Column("attested", sa.Boolean(), nullable=False),
        sa.Column("secret_refs", sa.JSON(), nullable=False),
        sa.Column("state", NAME, nullable=False),
        sa.Column("issued_at", sa.BigInteger(), nullable=False),
        sa.Column("not_after", sa.BigInteger(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("journalled_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("attestation", sa.Text(), nullable=True),
        sa.Column("progress", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["node"], ["nodes.id"], name=op.f("fk_commands_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commands")),
    )
    with op.batch_alter_table("commands", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_commands_batch"), ["batch"], unique=False)
        batch_op.create_index(batch_op.f("ix_commands_node_state"), ["node", "state"], unique=False)
        batch_op.create_index(batch_op.f("ix_commands_workflow"), ["workflow"], unique=False)

    op.create_table(
        "machine_macs",
        sa.Column("mac", NAME, nullable=False),
        sa.Column("machine", NAME, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["machine"], ["machines.name"], name=op.f("fk_machine_macs_machine")
        ),
        sa.PrimaryKeyConstraint("mac", name=op.f("pk_machine_macs")),
    )
    with op.batch_alter_table("machine_macs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_machine_macs_machine"), ["machine"], unique=False)

    op.create_table(
        "sessions",
        sa.Column("id", NAME, nullable=False),
        sa.Column("node", NAME, nullable=False),
        sa.Column("site", NAME, nullable=False),
        sa.Column("token_digest", NAME, nullable=False),
        sa.Column("process", NAME, nullable=False),
        sa.Column("boots", sa.Boolean(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("heard_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", NAME, nullable=True),
        sa.ForeignKeyConstraint(["node"], ["nodes.id"], name=op.f("fk_sessions_node")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sessions_node"), ["node"], unique=False)
        batch_op.create_index(batch_op.f("ix_sessions_site"), ["site"], unique=False)
