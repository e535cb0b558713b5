"""Tests for what a ramdisk's kernel was told."""

import tomllib
from pathlib import Path

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.agent.booted import Booted, booted, installed, sealing_pin
from rescriptum.agent.config import read
from rescriptum.boot.bootparams import BootParameters
from rescriptum.contract.keys import generate, pin, public_jwk
from rescriptum.contract.pins import Pin
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import rendered
from rescriptum.errors import ConfigError

KEY = generate("X25519")
SIGNING, ENCRYPTION, CA, OLD_CA = (f"sha256/{each * 43}=" for each in "AEIM")
SAID = BootParameters(
    gateway="https://gw.example:8443",
    server_name="gw.internal",
    site="lyon",
    serving_ca_pin=f"{CA},{OLD_CA}",
    join_signing_pin=SIGNING,
    join_encryption_pin=ENCRYPTION,
    jwk=rendered(public_jwk(KEY)),
    token="rsjt_1",
    assertion="a.b.c",
    mac="52:54:00:12:34:56",
    cache="http://192.0.2.1:8080/cache/t/0123",
)


def of(said: BootParameters, fake_hardware: bool = False) -> Booted:
    line = f"quiet {' '.join(said.words())} console=ttyS0\n"
    return booted(line, "/proc/cmdline", Path("/run/rescriptum"), fake_hardware)


class BootedTests(SynchronousTestCase):
    def refused(self, said: BootParameters) -> list[str]:
        with self.assertRaises(ConfigError) as caught:
            of(said)
        return [str(each) for each in caught.exception.problems]

    def test_everything(self) -> None:
        found = of(SAID)
        agent = found.agent
        self.assertEqual(agent.gateway_url.to_text(), "https://gw.example:8443")
        self.assertEqual((agent.gateway_server_name, agent.site), ("gw.internal", "lyon"))
        self.assertEqual(agent.serving_ca_pins, (Pin.parse(CA), Pin.parse(OLD_CA)))
        self.assertEqual(agent.join_signing_pin, Pin.parse(SIGNING))
        self.assertEqual((agent.log_format, agent.data_dir), ("json", Path("/run/rescriptum")))
        self.assertEqual((found.token, found.assertion, found.mac), ("rsjt_1", "a.b.c", SAID.mac))
        assert found.cache is not None
        self.assertEqual(found.cache.to_text(), SAID.cache)
        self.assertNotIn("rsjt_1", repr(found))
        self.assertNotIn("0123", repr(found))

    def test_the_least(self) -> None:
        """Without a server's name the certificate has the URL's; without a cache there is none."""
        least = BootParameters(
            "https://gw.example", site="lyon", jwk=b"{}", token="t", assertion="a"
        )
        found = of(least)
        self.assertEqual(found.agent.gateway_server_name, "gw.example")
        self.assertEqual((found.agent.serving_ca_pins, found.cache), ((), None))

    def test_all_that_is_missing(self) -> None:
        """It is named at once."""
        said = self.refused(BootParameters())
        self.assertEqual(
            said,
            [
                f"/proc/cmdline: bc.{name} is missing"
                for name in ("gateway", "site", "jwk", "token", "assertion")
            ],
        )

    def test_what_cannot_be_right(self) -> None:
        for said, sentence in (
            (evolve(SAID, gateway="http://gw.example"), "bc.gateway: want https://"),
            (evolve(SAID, gateway="gw.example"), "bc.gateway: want https://HOST"),
            (evolve(SAID, gateway="https://gw.example:70000"), "bc.gateway: want https://HOST"),
            (evolve(SAID, gateway="https://gw.example:0"), "bc.gateway: want https://HOST"),
            (evolve(SAID, site="a/b"), "bc.site: want a name"),
            (evolve(SAID, serving_ca_pin="sha256/AA"), "bc.serving_ca_pin: a pin is"),
            (evolve(SAID, join_signing_pin="x"), "bc.join_signing_pin: a pin is"),
            (evolve(SAID, cache="ftp://x"), "bc.cache: want"),
            (evolve(SAID, server_name="a:b:c/"), "bc.server_name: "),
        ):
            (problem,) = self.refused(said)
            self.assertIn(sentence, problem)

    def test_a_host_in_other_letters(self) -> None:
        """As a line is read of which not all was ASCII: no certificate has such a name."""
        line = " ".join(SAID.words()).replace(SAID.gateway, "https://gw\ufffd.example")
        with self.assertRaisesRegex(ConfigError, "bc.gateway: want https://HOST"):
            booted(line, "/proc/cmdline", Path("/run"))

    def test_the_last_port(self) -> None:
        said = evolve(SAID, gateway="https://gw.example:65535")
        self.assertEqual(of(said).agent.gateway_url.port, 65535)

    def test_fake_hardware(self) -> None:
        said = evolve(SAID, gateway="http://127.0.0.1:1")
        self.assertEqual(of(said, True).agent.gateway_url.scheme, "http")

    @given(st.text())
    def test_any_line(self, line: str) -> None:
        """Whatever a kernel was told, all that comes of it is a refusal."""
        try:
            booted(line, "/proc/cmdline", Path("/run"))
        except ConfigError as e:
            self.assertTrue(e.problems)


class SealingPinTests(SynchronousTestCase):
    def test_the_key_itself(self) -> None:
        own = Pin.parse(pin(KEY))
        self.assertEqual(sealing_pin(SAID.jwk, None), own)
        self.assertEqual(sealing_pin(SAID.jwk, own), own)

    def test_another_key(self) -> None:
        with self.assertRaises(Rejected) as caught:
            sealing_pin(SAID.jwk, Pin.parse(ENCRYPTION))
        self.assertEqual(caught.exception.code, "pin-mismatch")

    def test_no_key(self) -> None:
        for jwk in (b"", b"{}", b"[]", rendered(public_jwk(generate("Ed25519")))):
            self.assertRaises(Rejected, sealing_pin, jwk, None)


class InstalledTests(SynchronousTestCase):
    def test_what_an_installed_system_reads(self) -> None:
        """It is a configuration that an agent starts by: all there is but its token."""
        agent = of(SAID).agent
        path = Path(self.mktemp())
        path.write_bytes(installed(agent))
        path.chmod(0o640)
        self.assertEqual(
            read(path).agent, evolve(agent, log_format="text", data_dir=Path("/var/lib/rescriptum"))
        )

    def test_names_that_need_quotes(self) -> None:
        said = tomllib.loads(installed(of(evolve(SAID, site="l'y")).agent).decode())
        self.assertEqual(said["site"], "l'y")
