"""Tests for ``rescriptum.web.bearer``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.values import Secret
from rescriptum.web.bearer import bears, presented
from rescriptum.web.request import Request

TOKEN = "pve:0123456789abcdef"


def request(*values: str) -> Request:
    headers = tuple(("authorization", value) for value in values)
    return Request("GET", "/", ("192.0.2.7", 50000), headers)


class BearerTests(SynchronousTestCase):
    def test_reads_the_token_whatever_case_its_scheme_has(self) -> None:
        """RFC 9110 section 11.1; Proxmox presents a name and a secret as one token (W193)."""
        for value in (f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER   {TOKEN} "):
            self.assertEqual(presented(request(value)), TOKEN)

    def test_anything_else_presents_nothing(self) -> None:
        """Two headers too: who would know which of them somebody in between has looked at?"""
        for values in (
            (),
            ("",),
            ("Bearer",),
            ("Bearer ",),
            (f"Bearer{TOKEN}",),
            (f"Basic {TOKEN}",),
            (TOKEN,),
            ("Bearer two words",),
            ("Bearer caf\xe9",),
            (f"Bearer {TOKEN}", f"Bearer {TOKEN}"),
        ):
            self.assertIsNone(presented(request(*values)), values)

    def test_bears_the_very_token(self) -> None:
        """Its case counts, and its length."""
        secret = Secret(TOKEN)
        self.assertTrue(bears(request(f"Bearer {TOKEN}"), secret))
        for value in (f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", ""):
            self.assertFalse(bears(request(value), secret), value)
        self.assertFalse(bears(request(), secret))

    @settings(max_examples=300, deadline=None)
    @given(st.text(st.characters(max_codepoint=255)))
    def test_any_header_is_a_token_or_none(self, value: str) -> None:
        found = presented(request(value))
        self.assertTrue(found is None or (found in value and " " not in found))
