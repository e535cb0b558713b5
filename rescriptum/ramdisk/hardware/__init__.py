"""What the machine is made of."""
