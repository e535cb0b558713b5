"""``twistd rescriptum site`` whose boot server looks at its parts twice a second."""

import sys

from twisted.scripts.twistd import run

from rescriptum.siteboot import service

if __name__ == "__main__":
    service.LOOK = 0.5  # type: ignore[misc]
    sys.argv[0] = "twistd"
    run()
