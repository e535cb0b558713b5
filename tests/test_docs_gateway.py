"""Tests that the gateway's guide and its examples fit the gateway."""

import re
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.config import read as read_site
from rescriptum.agent.settings import KEYS
from rescriptum.contract.refusals import REFUSALS
from rescriptum.gateway.config import ROWS
from rescriptum.gateway.config import read as read_gateway

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples" / "gateway"
GUIDE = (ROOT / "docs" / "gateway-guide.md").read_text("utf-8")
_UNSET = re.compile(r"^#(?=\[?[a-z_]+\]?(?: = |$))", re.MULTILINE)
_CODE = re.compile(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", re.MULTILINE)


class ExampleTests(SynchronousTestCase):
    def written(self, text: str) -> Path:
        """:returns: a file of that, as its owner alone can read it."""
        path = Path(self.mktemp()).absolute()
        path.touch(0o600)
        path.write_text(text)
        return path

    def test_a_gateways(self) -> None:
        """As it stands it changes nothing; with every key set it is one too."""
        text = (EXAMPLES / "gateway.toml").read_text()
        self.assertEqual(read_gateway(self.written(text)).config, read_gateway(None).config)
        every = _UNSET.sub("", text)
        for name in ("chain", "key"):
            file = self.written("")
            every = every.replace(f"/etc/rescriptum/gateway-{name}.pem", str(file))
        reading = read_gateway(self.written(every))
        self.assertEqual(reading.config.server_names, ("gateway.example", "192.0.2.10"))
        told = re.findall(r"^([a-z_]+) = ", every, re.MULTILINE)
        self.assertEqual(told, [row.key for row in ROWS])
        for row in ROWS:
            self.assertIn(row.help.split()[0], text)

    def test_a_sites(self) -> None:
        """Its keys exist, and it starts once the pins are real ones."""
        text = (EXAMPLES / "site.toml").read_text()
        self.assertEqual(read_site(self.written(text)).agent.site, "berlin")
        table = ""
        for name, key in re.findall(
            r"^(?:\[(\w+)\]|(\w+) = .*)$", _UNSET.sub("", text), re.MULTILINE
        ):
            table = name or table
            if key:
                self.assertIn(f"{table}.{key}".lstrip("."), {each.path for each in KEYS})


class GuideTests(SynchronousTestCase):
    def test_the_symptoms_are_codes_that_exist(self) -> None:
        codes = [code for group in _CODE.findall(GUIDE) for code in re.findall("[a-z-]+", group)]
        self.assertGreater(len(codes), 5)
        self.assertEqual([each for each in codes if each not in REFUSALS], [])
