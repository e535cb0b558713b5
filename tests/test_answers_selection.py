"""Tests for ``rescriptum.answers.selection``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.facts import normalise
from rescriptum.answers.selection import Claim, Index, claims, specificity, spellings


def claimed(identities: list[str], *values: str) -> list[str]:
    index = Index.of((identity, identity) for identity in identities)
    found = index.claims([normalise(value) for value in values])
    return [claim.identity for claim in found]


def scanned(identities: list[str], values: list[str]) -> list[str]:
    """The rule applied to every identity and every value, one by one."""
    found = [
        Claim(specificity(normalise(identity)), identity, identity)
        for identity in identities
        if any(
            claims(spelling, value)
            for spelling in spellings(normalise(identity))
            for value in values
        )
    ]
    return [each.identity for each in sorted(found, key=lambda c: (-c.specificity, c.identity))]


class ClaimTests(SynchronousTestCase):
    def test_an_address_in_any_spelling(self) -> None:
        """Alone, inside a longer value, in the directory's spelling or the request's."""
        for name in ("52-54-00-AA-BB-CC", "52:54:00:aa:bb:cc", "525400aabbcc"):
            for value in ("52:54:00:AA:BB:CC", "01-52-54-00-aa-bb-cc", "525400aabbcc.cfg"):
                self.assertEqual(claimed([name], "debian", value), [name])

    def test_a_uuid_in_both_byte_orders(self) -> None:
        """W078: DHCP, iPXE and dmidecode may print one machine's UUID differently."""
        name = "4c4c4544-0050-4810-8033-b2c04f4d3132"
        self.assertEqual(claimed([name], "4C4C4544-0050-4810-8033-B2C04F4D3132"), [name])
        self.assertEqual(claimed([name], "44454c4c-5000-1048-8033-b2c04f4d3132"), [name])
        self.assertEqual(claimed([name], "4c4c4544-5000-1048-8033-b2c04f4d3132"), [])

    def test_values_do_not_join(self) -> None:
        """Half an address at the end of one value and half in the next is no address."""
        self.assertEqual(claimed(["525400aabbcc"], "525400", "aabbcc"), [])

    def test_six_characters_claim_inside_a_value(self) -> None:
        self.assertEqual(claimed(["web-01a"], "web01a.example.com"), ["web-01a"])
        self.assertEqual(claimed(["web01"], "web01.example.com"), [])

    def test_fewer_claim_a_whole_value_only(self) -> None:
        """A machine called ``pve`` is not every machine whose product mentions it."""
        self.assertEqual(claimed(["pve"], "Proxmox pve", "pve-manager"), [])
        self.assertEqual(claimed(["pve"], "P-V-E"), ["pve"])

    def test_a_name_of_nothing_never_claims(self) -> None:
        self.assertEqual(claimed(["---", "日本"], "", "---", "x"), [])

    def test_the_most_specific_comes_first(self) -> None:
        """
        UUID, MAC, then names by length; equal ones by name. So a directory that happens to be
        a word of the URL never hides a machine's own.
        """
        names = ["debian-installer", "rack1-n2", "rack1-n23", "525400aabbcc", "b2", "a2a2a2a2a2a2"]
        uuid = "4c4c4544-0050-4810-8033-b2c04f4d3132"
        values = ("debian-installer", "rack1-n23", "52:54:00:aa:bb:cc", uuid, "b2", "a2a2a2a2a2a2")
        self.assertEqual(
            claimed([*names, uuid], *values),
            [
                uuid,
                "525400aabbcc",
                "a2a2a2a2a2a2",
                "debian-installer",
                "rack1-n23",
                "rack1-n2",
                "b2",
            ],
        )

    def test_order_of_directories_does_not_matter(self) -> None:
        names = ["ab:cd:ef:00:11:22", "abcdef001122", "AB-CD-EF-00-11-22"]
        self.assertEqual(claimed(names, "abcdef001122"), claimed(names[::-1], "abcdef001122"))

    #: A small alphabet, so that names do occur in values.
    _names = st.lists(st.text(alphabet="a1-Fz", max_size=14), max_size=12, unique=True)
    _values = st.lists(st.text(alphabet="a1fz", min_size=1, max_size=30), max_size=6)

    @settings(max_examples=500, deadline=None)
    @given(_names, _values)
    def test_looking_up_finds_what_looking_through_finds(
        self, names: list[str], values: list[str]
    ) -> None:
        """The index is the rule, only faster."""
        self.assertEqual(claimed(names, *values), scanned(names, values))

    @settings(max_examples=200, deadline=None)
    @given(
        st.lists(st.uuids(), min_size=1, max_size=5),
        st.lists(st.binary(min_size=6, max_size=6).map(bytes.hex), max_size=5),
        st.data(),
    )
    def test_hardware_identities_are_found_anywhere(
        self, uuids: list[object], macs: list[str], data: st.DataObject
    ) -> None:
        """Whatever stands around it; the same ones as by looking through."""
        names = sorted({*map(str, uuids), *macs})
        one = data.draw(st.sampled_from(names))
        before, after = data.draw(st.text(alphabet="xyz", max_size=9)), "zz"
        values = [before + normalise(one) + after]
        self.assertIn(one, claimed(names, *values))
        self.assertEqual(claimed(names, *values), scanned(names, values))

    @settings(max_examples=300, deadline=None)
    @given(_names, _names, _values)
    def test_a_changed_index_is_the_index_of_what_is_left(
        self, before: list[str], after: list[str], values: list[str]
    ) -> None:
        """Only what differs is said to it; the result is that of making it anew."""
        gone = [(each, each) for each in before if each not in after]
        added = [(each, each) for each in after if each not in before]
        index = Index.of((each, each) for each in before).changed(gone, added)
        asked = [normalise(value) for value in values]
        self.assertEqual(
            index.claims(asked), Index.of((each, each) for each in after).claims(asked)
        )

    def test_one_identity_of_two_owners(self) -> None:
        """Both claim; and one of them going leaves the other."""
        index = Index.of([("machine-1", "b"), ("machine-1", "a"), ("MACHINE1", "a")])
        self.assertEqual([each.owner for each in index.named("machine-1")], ["b", "a", "a"])
        left = index.changed([("machine-1", "b")], [])
        self.assertEqual({each.owner for each in left.claims(["machine1"])}, {"a"})

    @settings(max_examples=100, deadline=None)
    @given(st.binary(min_size=16, max_size=16))
    def test_the_other_byte_order_is_its_own_inverse(self, octets: bytes) -> None:
        needle = octets.hex()
        for other in spellings(needle):
            self.assertIn(needle, spellings(other))
