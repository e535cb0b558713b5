"""What agents and gateways say to each other: messages, signatures, and why one is refused."""
