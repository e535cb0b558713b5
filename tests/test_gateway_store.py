"""Tests for ``rescriptum.gateway.store``."""

from datetime import UTC, datetime
from pathlib import Path

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.joining import TrustBundle
from rescriptum.contract.keys import generate, public_jwk
from rescriptum.contract.refusals import Rejected
from rescriptum.contract.structure import JSON
from rescriptum.errors import ConfigError
from rescriptum.gateway.config import Config, read
from rescriptum.gateway.statements import certificate
from rescriptum.gateway.store import CERTIFICATE, pins, prepared, worker
from tests.certificates import write_certificate

NOW = datetime(2026, 12, 1, tzinfo=UTC)


class StoreTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.here = Path(self.mktemp()).absolute()
        self.here.mkdir(parents=True)

    def config(self) -> Config:
        return read(None, self.here / "data").config

    def test_the_first_start_makes_everything_and_the_next_one_reads_it(self) -> None:
        keyring, _ = prepared(self.config(), NOW)
        again, _ = prepared(self.config(), NOW)
        self.assertEqual(again.pins(), keyring.pins())
        modes = {path.stat().st_mode & 0o777 for path in (self.here / "data" / "keys").iterdir()}
        self.assertEqual(modes, {0o600})
        for path in (self.here / "data", self.here / "data" / "keys"):
            self.assertEqual(path.stat().st_mode & 0o777, 0o700)

    def test_a_data_directory_that_is_there_is_taken_as_it_is(self) -> None:
        """systemd makes one for us; the keys in it are nobody else's all the same."""
        (self.here / "data").mkdir(mode=0o755)
        prepared(self.config(), NOW)
        self.assertEqual((self.here / "data" / "keys").stat().st_mode & 0o777, 0o700)

    def test_keys_that_others_can_read_are_not_used(self) -> None:
        prepared(self.config(), NOW)
        (self.here / "data" / "keys" / "secrets.key").chmod(0o644)
        error = self.assertRaises(ConfigError, prepared, self.config(), NOW)
        self.assertIn("others may read it", str(error))

    def test_what_agents_pin(self) -> None:
        keyring, _ = prepared(self.config(), NOW)
        told = pins(self.config(), keyring, "gw")
        self.assertEqual(told.server_name, "gw")
        self.assertEqual(told.serving_ca_spki_pin, keyring.authority.pin)

    def test_an_operators_certificate_without_a_ca_is_nothing_to_pin(self) -> None:
        keyring, _ = prepared(self.config(), NOW)
        own = write_certificate(self.here)
        told = pins(evolve(self.config(), own=own), keyring, "gw")
        self.assertEqual(told.serving_ca_spki_pin, "")
        own[0].write_text("nonsense")
        error = self.assertRaises(ConfigError, pins, evolve(self.config(), own=own), keyring, "gw")
        self.assertIn(str(own[0]), str(error))

    def test_who_signs(self) -> None:
        keyring, files = prepared(self.config(), NOW)
        self.assertIsNone(worker(files, keyring, TrustBundle()))
        root = generate("Ed25519")
        bundle = TrustBundle((JSON(public_jwk(root)),))
        error = self.assertRaises(Rejected, worker, files, keyring, bundle)
        self.assertEqual(error.code, "unsigned")
        self.assertIn(CERTIFICATE, str(error))
        mine = JSON(public_jwk(keyring.worker))
        files.write(CERTIFICATE, certificate(root, mine, ["power.off"], 1).encode() + b"\n")
        signer = worker(files, keyring, bundle)
        assert signer is not None
        self.assertEqual(signer.said.kinds, ("power.off",))
        other = JSON(public_jwk(generate("Ed25519")))
        files.write(CERTIFICATE, certificate(root, other, ["power.off"], 1).encode())
        error = self.assertRaises(Rejected, worker, files, keyring, bundle)
        self.assertEqual(error.code, "key-mismatch")
