"""What the gateway remembers: SQLAlchemy Core over SQLite or PostgreSQL."""
