"""``rescriptum gateway``: an operator's side of a gateway, over its API."""
