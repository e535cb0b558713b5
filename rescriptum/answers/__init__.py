"""What an unattended installer receives, and who decided it."""
