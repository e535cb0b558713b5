"""An image comes to a site through a link that is cut: it is resumed, and whole in the end."""

import hashlib
import os
from functools import partial
from pathlib import Path
from unittest import TestSuite

from . import sites
from .case import ASKED_FOR_ALL
from .network import Running, wait_for
from .sitecase import SiteTestCase

if not ASKED_FOR_ALL:
    testSuite = TestSuite

WEB = "10.79.0.6"
MIB = 1 << 20
SIZE = 2048 * MIB
#: How much of it is there when the link is cut: so many MiB.
CUTS = (300, 900, 1500)
#: Without a byte for 30 seconds a pull is given up; then it asks again and again.
CUT_SECONDS = 90
NGINX = """
daemon off; master_process off; pid {here}/nginx.pid; error_log {here}/nginx-error.log;
events {{}}
http {{
  access_log {here}/access.log combined;
  client_body_temp_path {here}/nginx-body; proxy_temp_path {here}/nginx-proxy;
  fastcgi_temp_path {here}/nginx-fastcgi; uwsgi_temp_path {here}/nginx-uwsgi;
  scgi_temp_path {here}/nginx-scgi;
  server {{ listen 80; root {here}/www; limit_rate 60m; }}
}}
"""


def image(path: Path) -> str:
    """
    :param path: gets :data:`SIZE` bytes, no MiB of them like another one.
    :returns: their digest.
    """
    found, noise = hashlib.sha256(), os.urandom(MIB)
    with path.open("wb") as file:
        for number in range(SIZE // MIB):
            block = number.to_bytes(8, "big") + noise[8:]
            file.write(block)
            found.update(block)
    return found.hexdigest()


class ImageTests(SiteTestCase):
    tools = (*SiteTestCase.tools, "nginx")

    def web(self) -> Running:
        """A web server on the uplink, which sends so slowly that the link can be cut between."""
        self.network.host("web", WEB, sites.UPLINK)
        config = self.network.directory / "nginx.conf"
        config.write_text(NGINX.format(here=self.network.directory))
        running = self.network.spawn("web", "nginx", ["nginx", "-c", config])
        self.assertTrue(wait_for(lambda: self.network.port_open("web", "tcp", 80), 10))
        return running

    def test_a_link_that_is_cut_three_times(self) -> None:
        """2 GiB: every byte comes about once, and it has its name only when it is verified."""
        www = self.network.directory / "www"
        www.mkdir()
        digest = image(www / "image")
        self.addCleanup((www / "image").unlink)
        with self.shown():
            self.web()
            self.gateway.command(
                *("image", "add", "big", f"http://{WEB}/image", digest, "--site", sites.SITE)
            )
            named = self.agent.cache / digest
            for number, cut in enumerate(CUTS, 1):
                self.assertTrue(wait_for(partial(self.has_sent, cut), 120))
                self.assertFalse(named.exists())
                before = self.given_up()
                self.network.cut("web", "eth0")
                given_up = wait_for(partial(self.given_up_since, before), CUT_SECONDS)
                self.assertTrue(given_up, f"cut {number} was not noticed")
                self.network.mend("web", "eth0")
            self.assertTrue(wait_for(named.exists, 300), "it never came")
            with named.open("rb") as file:
                self.assertEqual(hashlib.file_digest(file, "sha256").hexdigest(), digest)
            self.assert_resumed()
            self.assertTrue(wait_for(lambda: self.cache()["ready"] == 1, 30))
            self.assertEqual((self.cache()["pulling"], self.cache()["failed"]), (0, 0))
            node = self.agent.node
            self.gateway.until(lambda said: digest in str(said), "node", "show", node)
            self.assertEqual(self.agent.complaints(), [])

    def cache(self) -> sites.Said:
        """:returns: what the agent says of its cache; nothing is ready before it has said so."""
        for each in self.agent.status()["sections"]:
            if "cache" in each["detail"]:
                said: sites.Said = each["detail"]["cache"]
                return said
        return {"ready": 0}

    def sent(self) -> int:
        """:returns: bytes that left the web server."""
        path = "/sys/class/net/eth0/statistics/tx_bytes"
        return int(self.network.call("web", ["cat", path]).stdout)

    def has_sent(self, mib: int) -> bool:
        return self.sent() > mib * MIB

    def given_up(self) -> int:
        """:returns: how often the agent has said that it has to wait for the image."""
        return self.agent.running.text().count("next in")

    def given_up_since(self, before: int) -> bool:
        return self.given_up() > before

    def assert_resumed(self) -> None:
        """The web server was asked for the rest, not for all of it again."""
        lines = (self.network.directory / "access.log").read_text().splitlines()
        statuses = [line.split('" ')[1].split()[0] for line in lines]
        self.assertEqual(statuses[:1], ["200"])
        self.assertGreaterEqual(statuses.count("206"), len(CUTS))
        self.assertEqual(set(statuses[1:]), {"206"})
        self.assertLess(self.sent(), SIZE * 1.2)
