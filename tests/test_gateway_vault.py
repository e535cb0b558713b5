"""Tests for ``rescriptum.gateway.vault``."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.refusals import Rejected
from rescriptum.gateway.vault import LONGEST, Vault

VAULT, OTHER = Vault.make(), Vault.make()
NONCE = b"n" * 12
SEALED = VAULT.seal_secret("bmc/r1", b"hunter2", NONCE)


class VaultTests(SynchronousTestCase):
    def unreadable(self, name: str, sealed: bytes, said: str = "", vault: Vault = VAULT) -> None:
        error: Rejected = self.assertRaises(Rejected, vault.open_secret, name, sealed)
        self.assertEqual(error.code, "secret-unreadable")
        self.assertIn(said, error.detail)
        self.assertNotIn("hunter2", str(error))

    def test_what_is_sealed_is_opened(self) -> None:
        self.assertEqual(VAULT.open_secret("bmc/r1", SEALED), b"hunter2")
        self.assertNotIn(b"hunter2", SEALED)

    def test_a_secret_belongs_to_its_name(self) -> None:
        """Who can write to the database cannot have a secret shown under another name."""
        self.unreadable("bmc/r2", SEALED, "another secret's")
        self.unreadable("", SEALED)

    def test_every_bit_counts(self) -> None:
        for at in range(len(SEALED)):
            changed = bytearray(SEALED)
            changed[at] ^= 1
            self.unreadable("bmc/r1", bytes(changed))
        for end in range(len(SEALED)):
            self.unreadable("bmc/r1", SEALED[:end])
        self.unreadable("bmc/r1", SEALED + b"\0")

    def test_another_gateway_s_key(self) -> None:
        self.unreadable("bmc/r1", SEALED, "not here", OTHER)

    def test_a_new_key_before_the_old_one(self) -> None:
        both = Vault((*OTHER.keys, *VAULT.keys))
        self.assertEqual(both.open_secret("bmc/r1", SEALED), b"hunter2")
        anew = both.seal_secret("bmc/r1", b"hunter2", NONCE)
        self.assertEqual(OTHER.open_secret("bmc/r1", anew), b"hunter2")
        self.unreadable("bmc/r1", anew)

    def test_the_bound(self) -> None:
        longest = VAULT.seal_secret("a", b"x" * LONGEST, NONCE)
        self.assertEqual(len(VAULT.open_secret("a", longest)), LONGEST)
        error: Rejected = self.assertRaises(
            Rejected, VAULT.seal_secret, "a", b"x" * (LONGEST + 1), NONCE
        )
        self.assertEqual(error.code, "too-large")

    def test_a_nonce_of_another_length_is_our_fault(self) -> None:
        for nonce in (b"", b"n" * 11, b"n" * 13):
            self.assertRaises(ValueError, VAULT.seal_secret, "a", b"", nonce)

    def test_the_file(self) -> None:
        both = Vault((*OTHER.keys, *VAULT.keys))
        self.assertEqual(Vault.load(both.dumped()), both)
        self.assertEqual(Vault.load(VAULT.dumped()), VAULT)

    def test_a_file_that_is_none(self) -> None:
        line = VAULT.dumped()
        for text in (b"", b"\n", line[:-2], line + b"x\n", b"\xff", b"AAAA\n", line * 17):
            error = self.assertRaises(ValueError, Vault.load, text)
            self.assertNotIn(line.decode()[:12], str(error))

    def test_keys_are_not_shown(self) -> None:
        self.assertEqual(repr(VAULT), "Vault()")

    @given(st.text(), st.binary(max_size=200))
    def test_any_secret_of_any_name(self, name: str, value: bytes) -> None:
        sealed = VAULT.seal_secret(name, value, NONCE)
        self.assertEqual(VAULT.open_secret(name, sealed), value)
        self.assertRaises(Rejected, VAULT.open_secret, name + "x", sealed)

    @given(st.binary(max_size=100))
    def test_garbage(self, sealed: bytes) -> None:
        self.unreadable("a", sealed)
        self.unreadable("a", SEALED[:20] + sealed)
