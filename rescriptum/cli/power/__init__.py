"""``rescriptum power``: machines, by their BMCs."""
