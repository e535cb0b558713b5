"""The tests: this directory mirrors ``rescriptum``; ``functional`` and ``lab`` use real sockets."""
