"""The boot server of a site agent: scripts, tokens, boot entries, and what runs them."""
