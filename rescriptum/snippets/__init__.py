"""What an operator pastes into the DHCP server they already run: one module per server."""
