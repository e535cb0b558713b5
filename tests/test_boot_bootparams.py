"""Tests for ``rescriptum.boot.bootparams``."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.bootparams import LONGEST, BootParameters
from rescriptum.errors import Malformed

FULL = BootParameters(
    "https://gw.example.com",
    "gw.internal",
    "site-1",
    "sha256/aaa=,sha256/bbb=",
    "sha256/ccc=",
    "sha256/ddd=",
    b'{"kty":"OKP"}',
    "token",
    "head.body.sign",
    "52:54:00:12:34:56",
    "http://10.0.0.1:8080/cache/t/abc",
)
LINE = (
    "bc.gateway=https://gw.example.com bc.server_name=gw.internal bc.site=site-1"
    " bc.serving_ca_pin=sha256/aaa=,sha256/bbb= bc.join_signing_pin=sha256/ccc="
    " bc.join_encryption_pin=sha256/ddd= bc.jwk=eyJrdHkiOiJPS1AifQ bc.token=token"
    " bc.assertion=head.body.sign bc.mac=52:54:00:12:34:56"
    " bc.cache=http://10.0.0.1:8080/cache/t/abc"
)
_word = st.text(st.characters(min_codepoint=35, max_codepoint=126), min_size=1, max_size=30)


class BootParametersTests(SynchronousTestCase):
    def test_are_in_their_order(self) -> None:
        """The contract with the ramdisk."""
        self.assertEqual(" ".join(FULL.words()), LINE)

    def test_absent_ones_are_left_out(self) -> None:
        self.assertEqual(BootParameters(site="s", mac="m").words(), ("bc.site=s", "bc.mac=m"))

    def test_what_is_not_ours_is_ignored(self) -> None:
        """Other arguments, and those of a later agent."""
        line = f"console=ttyS0 bc.later=1 quiet bc. bc.site BC.site=x {LINE} initrd=initrd.magic\n"
        self.assertEqual(BootParameters.parse(line), FULL)
        self.assertEqual(BootParameters.parse(""), BootParameters())

    def test_those_that_a_ramdisk_needs_are_named(self) -> None:
        self.assertEqual(FULL.missing, ())
        self.assertEqual(
            BootParameters(gateway="g", jwk=b"{}").missing, ("bc.site", "bc.token", "bc.assertion")
        )

    def test_one_that_is_there_twice_is_refused(self) -> None:
        """Which of them the site agent said, nobody can tell."""
        with self.assertRaisesRegex(Malformed, "bc.token is there twice"):
            BootParameters.parse("bc.token=a bc.site=s bc.token=b")

    def test_a_key_that_is_no_base64url_is_refused(self) -> None:
        for text in ("e", "eyJ+", "eyJ=", "ey J", "eyJrdHk=", "é"):
            with self.assertRaises(Malformed):
                BootParameters.parse(f"bc.jwk={text.replace(' ', '=')}")

    def test_each_is_one_word(self) -> None:
        """For the kernel, which splits at blanks and eats quotes, and for iPXE, which expands."""
        for text in ("a b", "a\nb", 'a"b', "a${b}", "ä", "a\tb"):
            with self.assertRaises(Malformed):
                BootParameters(site=text).words()

    def test_they_fit_into_a_command_line(self) -> None:
        most = LONGEST - len("bc.token=")
        BootParameters(token="x" * most).words()
        with self.assertRaises(Malformed):
            BootParameters(token="x" * (most + 1)).words()

    def test_their_text_tells_no_secret(self) -> None:
        for secret in ("token='token'", "head.body", "cache/t"):
            self.assertNotIn(secret, repr(FULL))

    @given(st.binary(max_size=60), _word, _word)
    def test_come_out_as_they_went_in(self, jwk: bytes, token: str, site: str) -> None:
        made = BootParameters(jwk=jwk, token=token, site=site)
        try:
            words = made.words()
        except Malformed:
            return  # iPXE would expand it
        self.assertEqual(BootParameters.parse(" ".join(words)), made)

    @given(st.text())
    def test_reads_any_line(self, line: str) -> None:
        """Or says that it is malformed."""
        with contextlib.suppress(Malformed):
            BootParameters.parse(line)
