"""Tests for the certificate of a wipe: what it says, and how long it gets."""

import json
from typing import Any

from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.commands import AttestedResult, Result
from rescriptum.contract.jose import octets
from rescriptum.contract.ramdisk import WipeMode
from rescriptum.contract.structure import JSON, plain
from rescriptum.ramdisk.wipe.certificate import (
    LONGEST,
    METHODS,
    DiskCertificate,
    Sampled,
    Try,
    document,
    leaves_out,
)
from rescriptum.ramdisk.wipe.places import Place

DISK = DiskCertificate(
    "nvme0n1",
    "EXAMPLE NVMe 1",
    "S1",
    "eui.1",
    1 << 40,
    ("nvme1n1",),
    "nvme-erase",
    True,
    (Try("nvme-crypto-erase", "it cannot (W261)"), Try("nvme-erase", "done")),
    Sampled(7, 64, 66, 0, 0),
    (Place(0, 1 << 21),),
    {"oacs": 2, "fna": 0},
    12.5,
)


def listed(data: JSON) -> list[dict[str, Any]]:
    found = data["disks"]
    assert isinstance(found, list)
    return found


class DocumentTests(SynchronousTestCase):
    def test_all_of_it(self) -> None:
        made = document(WipeMode.CRYPTO, [DISK], {"sr0": "no disk, but rom"}, ["mdadm: busy"])
        self.assertEqual(
            made,
            {
                "version": 1,
                "mode": "crypto",
                "disks": [
                    {
                        "disk": "nvme0n1",
                        "paths": ["nvme1n1"],
                        "model": "EXAMPLE NVMe 1",
                        "serial": "S1",
                        "wwn": "eui.1",
                        "size": 1 << 40,
                        "method": "nvme-erase",
                        "verified": True,
                        "tries": [
                            {"method": "nvme-crypto-erase", "outcome": "it cannot (W261)"},
                            {"method": "nvme-erase", "outcome": "done"},
                        ],
                        "sampled": {
                            "seed": 7,
                            "count": 64,
                            "bytes": 4096,
                            "places": 66,
                            "unmarked": 0,
                            "wrong": 0,
                        },
                        "zeroed": [[0, 1 << 21]],
                        "abilities": {"oacs": 2, "fna": 0},
                        "seconds": 12.5,
                        "leaves_out": leaves_out("nvme-erase"),
                    }
                ],
                "left_alone": [{"disk": "sr0", "reason": "no disk, but rom"}],
                "complaints": ["mdadm: busy"],
                "shortened": False,
                "not_listed": 0,
            },
        )

    def test_what_is_left_out(self) -> None:
        """Every method has something that it does not reach, and none of another name has."""
        for method in METHODS:
            said = leaves_out(method)
            assert said is not None
            self.assertGreaterEqual(len(said), 2)
        self.assertIsNone(leaves_out("nvme-format"))

    def test_three_lengths(self) -> None:
        """With more disks than there is room for, less is said of each, and that it is."""
        for count, shortened, seed in ((60, False, True), (90, True, True), (240, True, False)):
            made = document(WipeMode.SECURE, [DISK] * count, {}, [])
            self.assertEqual((made["shortened"], made["not_listed"]), (shortened, 0), count)
            self.assertEqual(len(listed(made)), count)
            self.assertEqual(all("sampled" in each for each in listed(made)), seed, count)

    def test_more_disks_than_are_listed(self) -> None:
        """At the bound, and one more: then those that are not verified stand first."""
        for count, hidden in ((240, 0), (241, 1), (4096, 3856)):
            made = [*[DISK] * (count - 1), evolve(DISK, name="bad", verified=False, method="")]
            told = document(WipeMode.SECURE, made, {}, [])
            self.assertEqual(told["not_listed"], hidden)
            self.assertEqual((listed(told)[0]["disk"], listed(told)[0]["verified"]), ("bad", False))

    @example("\N{SNOWMAN}" * 300, 4096, 4096, 2**64)
    @settings(max_examples=20, deadline=None)
    @given(st.text(max_size=300), st.integers(1, 4096), st.integers(0, 4096), st.integers(0, 2**64))
    def test_it_can_always_be_signed(self, text: str, disks: int, others: int, size: int) -> None:
        """Whatever drives and tools say, in whichever alphabet: 40 KiB, and it can be signed."""
        one = evolve(
            DISK,
            name="n" * 32,
            model=text,
            serial=text,
            wwn=text,
            size=size,
            paths=(text,) * 16,
            tries=(Try("ata-enhanced-erase", text),) * 8,
            zeroed=(Place(size, size),) * 400,
        )
        made = document(
            WipeMode.SECURE,
            [one] * disks,
            {f"{text}{each}": text for each in range(others)},
            [text] * others,
        )
        self.assertLessEqual(len(json.dumps(made, separators=(",", ":"))), LONGEST)
        result = Result(False, "wipe-unverified", "x" * 500, made)
        octets(plain(AttestedResult("c" * 128, "d" * 71, "n" * 128, "b" * 36, result, 2**40)))
