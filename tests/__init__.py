"""The tests: this directory mirrors ``rescriptum``; ``functional`` and ``lab`` use real sockets."""

import os

from hypothesis import settings

# A machine that is busy is no fault of what is tested. What CI runs it runs again in the same
# way, so that a submission is judged by what is in it; everybody else looks somewhere new.
settings.register_profile("busy", deadline=None)
settings.register_profile("ci", settings.get_profile("busy"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "busy"))
