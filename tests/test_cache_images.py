"""Tests for ``rescriptum.cache.images``."""

import contextlib
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.cache.images import CachedImage, Sidecar
from rescriptum.errors import Malformed
from rescriptum.values import Extent

NUMBERS = st.integers(0, 2**63 - 1)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
MEMBERS = st.dictionaries(st.sampled_from(["url", "used", "size", "modified_ns", "x"]), LEAVES)
IMAGE = CachedImage("ab" * 32, (1, 2, 1000, 5_000_000_001), 1_700_000_000, "http://x/y?secret")


class SidecarTests(SynchronousTestCase):
    @given(st.text(), NUMBERS, NUMBERS, NUMBERS)
    def test_there_and_back(self, url: str, used: int, size: int, modified: int) -> None:
        sidecar = Sidecar(url, used, size, modified)
        self.assertEqual(Sidecar.parse(sidecar.render()), sidecar)

    @given(st.binary() | MEMBERS.map(lambda each: json.dumps(each).encode()))
    def test_whatever_a_disk_gives(self, data: bytes) -> None:
        with contextlib.suppress(Malformed):
            Sidecar.parse(data)

    def test_what_is_none(self) -> None:
        good = {"url": "", "used": 1, "size": 2, "modified_ns": 3}
        Sidecar.parse(json.dumps({**good, "unknown": []}).encode())
        for wrong in (
            b"",
            b"[]",
            b"[" * 100_000,
            b'{"url": "", "used": ' + b"1" * 5000 + b"}",
            *(json.dumps({**good, name: True}).encode() for name in good),
            *(json.dumps({**good, name: -1}).encode() for name in good),
            json.dumps({**good, "size": 2**63}).encode(),
        ):
            self.assertRaises(Malformed, Sidecar.parse, wrong)


class CachedImageTests(SynchronousTestCase):
    def test_what_is_sent_of_it(self) -> None:
        """Its ETag is its digest."""
        content = IMAGE.content(Path("cache"))
        self.assertEqual(content.path, Path("cache") / IMAGE.digest)
        self.assertEqual(content.etag, f'"{IMAGE.digest}"')
        self.assertEqual((content.size, content.modified), (1000, 5))
        self.assertEqual(content.version, IMAGE.version)
        self.assertEqual(content.extents, (Extent(0, 1000),))

    def test_used_later(self) -> None:
        """Never earlier, whatever a clock says."""
        self.assertEqual(IMAGE.used_at(1_700_000_100).used, 1_700_000_100)
        self.assertEqual(IMAGE.used_at(5).used, IMAGE.used)

    def test_nothing_prints_where_it_came_from(self) -> None:
        self.assertNotIn("secret", repr(IMAGE) + repr(IMAGE.sidecar()))
