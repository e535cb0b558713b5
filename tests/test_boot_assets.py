"""Tests for ``rescriptum.boot.assets``."""

import contextlib
import re
from importlib.resources import files

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.boot.assets import (
    MANIFEST,
    KnownBuild,
    Manifest,
    Set,
    Source,
    Standing,
    judge,
    replaces,
    survey,
)
from rescriptum.boot.loaders import ONE_LOADER, ONE_LOADER_PARTS, SERVED
from rescriptum.errors import MalformedDocument

PINNED, OLDER, OTHER = "a" * 64, "b" * 64, "c" * 64
X64 = "ipxe-x86_64.efi"
LISTED = Manifest(
    "trixie",
    (Source(X64, Set.LOADERS, "UEFI x64", "ipxe", "1.21.1", ("usr/lib/ipxe/x.efi",), PINNED),),
    (KnownBuild(X64, "1.0.0", OLDER, "it never asks"),),
)


def shipped() -> Manifest:
    return Manifest.parse((files("rescriptum.boot") / MANIFEST).read_text("utf-8"))


class ShippedManifestTests(SynchronousTestCase):
    """What ``loaders.toml`` itself has to say."""

    def test_has_every_loader_of_the_architecture_table(self) -> None:
        """The table names no loader that nobody can fetch (S47)."""
        standard = {each.name for each in shipped().sources if each.set is Set.LOADERS}
        self.assertLessEqual({row.loader for row in SERVED}, standard)
        self.assertLessEqual({ONE_LOADER, *ONE_LOADER_PARTS} - {"script.ipxe"}, standard)

    def test_names_each_file_once_with_a_digest(self) -> None:
        names = [each.name for each in shipped().sources]
        self.assertEqual(len(names), len(set(names)))
        digests = [each.sha256 for each in shipped().sources]
        digests += [each.sha256 for each in shipped().known]
        for digest in digests:
            self.assertTrue(re.fullmatch("[0-9a-f]{64}", digest), digest)

    def test_older_builds_are_of_files_that_it_lists(self) -> None:
        for each in shipped().known:
            self.assertIsNotNone(shipped().source(each.name), each)


class ManifestTests(SynchronousTestCase):
    def test_refuses_what_is_no_manifest(self) -> None:
        """A missing key, a wrong type and an unknown set are the same error."""
        for text in (
            "",
            "suite = 1\nloader = 2\nknown = 3",
            "[[loader]]\nname = 'x'",
            "known = []\nsuite = 'x'\n[package.p]\nversion = '1'\n[[loader]]\nname = 'n'\n"
            "set = 'none'\narchitecture = 'a'\npackage = 'p'\nfile = 'f'\nsha256 = 's'",
        ):
            self.assertRaises(MalformedDocument, Manifest.parse, text)

    @given(st.text())
    @settings(max_examples=200, deadline=None)
    def test_any_text_is_a_manifest_or_malformed(self, text: str) -> None:
        with contextlib.suppress(MalformedDocument):
            Manifest.parse(text)


class JudgeTests(SynchronousTestCase):
    def standing(self, digest: str | None, sums: dict[str, str]) -> Standing:
        return judge(LISTED, X64, digest, sums)[0]

    def test_the_build_that_was_tested(self) -> None:
        self.assertEqual(self.standing(PINNED, {X64: PINNED}), Standing.PINNED)
        self.assertEqual(self.standing(PINNED, {}), Standing.PINNED)

    def test_another_build_that_is_known_says_what_it_cannot_do(self) -> None:
        standing, note = judge(LISTED, X64, OLDER, {})
        self.assertEqual(standing, Standing.KNOWN)
        self.assertIn("it never asks", note)

    def test_a_file_that_only_the_sums_know(self) -> None:
        self.assertEqual(self.standing(OTHER, {X64: OTHER}), Standing.RECORDED)

    def test_a_file_that_nobody_knows(self) -> None:
        self.assertEqual(self.standing(OTHER, {}), Standing.UNRECORDED)

    def test_the_sums_are_a_promise(self) -> None:
        """Even the right file is wrong where SHA256SUMS says another digest."""
        self.assertEqual(self.standing(OTHER, {X64: PINNED}), Standing.CHANGED)
        self.assertEqual(self.standing(PINNED, {X64: OTHER}), Standing.CHANGED)

    def test_a_missing_file_is_missing_whatever_is_promised(self) -> None:
        standing, note = judge(LISTED, X64, None, {X64: PINNED})
        self.assertEqual(standing, Standing.MISSING)
        self.assertIn("ipxe", note)


class SurveyTests(SynchronousTestCase):
    def test_shows_the_whole_table_even_of_an_empty_directory(self) -> None:
        assets = survey(shipped(), {}, {})
        failing = {each.name for each in assets if each.fails}
        self.assertEqual(failing, {row.loader for row in SERVED})

    def test_a_full_directory_fails_nothing(self) -> None:
        found = {each.name: each.sha256 for each in shipped().sources}
        assets = survey(shipped(), found, {})
        self.assertEqual([each for each in assets if each.fails], [])
        self.assertEqual({each.standing for each in assets}, {Standing.PINNED})

    def test_a_changed_file_fails_even_if_the_table_does_not_need_it(self) -> None:
        [asset] = [
            each
            for each in survey(shipped(), {"mine.efi": OTHER}, {"mine.efi": PINNED})
            if each.name == "mine.efi"
        ]
        self.assertTrue(asset.fails)
        self.assertFalse(asset.required)

    def test_says_who_asks_for_a_file(self) -> None:
        [asset] = [each for each in survey(shipped(), {}, {}) if each.name == X64]
        self.assertIn("UEFI HTTP x64", asset.clients)


class ReplacesTests(SynchronousTestCase):
    def test_only_what_is_missing_broken_or_older_gives_way(self) -> None:
        """Neither an operator's own build nor a newer one is overwritten unasked."""
        giving_way = {present: replaces(present, Standing.PINNED) for present in Standing}
        self.assertEqual(
            {present for present, gives in giving_way.items() if gives},
            {Standing.MISSING, Standing.CHANGED, Standing.KNOWN},
        )
        self.assertFalse(replaces(Standing.KNOWN, Standing.KNOWN))
        self.assertFalse(replaces(Standing.PINNED, Standing.KNOWN))
