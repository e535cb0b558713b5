"""The addresses of machines that requests may be made to."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NAME = sa.String(128).with_variant(sa.VARCHAR(128, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "machine_addresses",
        sa.Column("machine", NAME, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("address", NAME, nullable=False),
        sa.ForeignKeyConstraint(
            ["machine"], ["machines.name"], name=op.f("fk_machine_addresses_machine_machines")
        ),
        sa.PrimaryKeyConstraint("machine", "position", name=op.f("pk_machine_addresses")),
    )
