"""What Alembic runs: the migrations, on the connection and in the transaction it was given."""

from alembic import context

from rescriptum.gateway.stores.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes tables by copying them
)
context.run_migrations()
