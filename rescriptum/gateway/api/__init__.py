"""What operators ask of the gateway over HTTP: one table of operations, and what performs each."""
