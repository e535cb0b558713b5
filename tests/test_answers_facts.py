"""Tests for ``rescriptum.answers.facts``."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.body import MAX_DEPTH, MAX_LABEL, MAX_VALUES
from rescriptum.answers.facts import MAX_TEXT, RESERVED, Facts, normalise
from rescriptum.errors import MalformedRequest
from rescriptum.values import MAC

#: What Proxmox VE 9 posts (families 4.7): ``link`` is an interface's name.
PROXMOX = {
    "product": {"fullname": "Proxmox VE", "product": "pve"},
    "iso": {"release": "9.2", "isorelease": "1"},
    "dmi": {
        "baseboard": {"serial": "BOARD-1"},
        "chassis": {"serial": "CHASSIS-1"},
        "system": {"serial": "SYS-1", "uuid": "4c4c4544-0050-4810-8033-b2c04f4d3132"},
    },
    "network_interfaces": [
        {"link": "eno1", "mac": "bc:24:11:00:00:01"},
        {"link": "eno2", "mac": "bc:24:11:00:00:02"},
    ],
    "disks": [{"path": "/dev/sda", "size": 500107862016}],
    "secure_boot": False,
    "token": None,
}


def facts_of(body: object, query: tuple[tuple[str, str], ...] = ()) -> Facts:
    return Facts.of(("answer",), query, json.dumps(body).encode())


class NormaliseTests(SynchronousTestCase):
    def test_four_spellings_of_an_address_are_one(self) -> None:
        """Colons, hyphens, dots, case: none of it tells two machines apart (W080)."""
        for text in ("98-FA-9b:50.d8 10", "98:fa:9b:50:d8:10", "98FA9B50D810", b"98fa.9b50.d810"):
            self.assertEqual(normalise(text), "98fa9b50d810")

    def test_only_ascii_counts(self) -> None:
        """A Kelvin sign is no k, an Arabic digit no digit; bytes that are no text are dropped."""
        self.assertEqual(normalise("\u212a1\u0661é\udcff"), "1")
        self.assertEqual(normalise(b"\xff\x00a"), "a")


class FactsTests(SynchronousTestCase):
    def test_where_it_came_from(self) -> None:
        """A fact, and no value: an address never is a machine's identity by accident."""
        facts = Facts.of(("x",), peer="192.0.2.123")
        self.assertEqual(facts.first("peer"), "192.0.2.123")
        self.assertEqual(facts.values, ("x",))

    def test_a_group_once_it_is_known(self) -> None:
        facts = Facts.of((), (("group", "x"),)).bound(None, "dell")
        self.assertEqual(facts.first("group"), "dell")
        self.assertIsNone(facts.first("machine"))

    def test_values_to_match_patterns_with(self) -> None:
        facts = Facts.of((), (("Product", "Power-Edge R640"), ("product", "---")))
        self.assertEqual(facts.normalised("PRODUCT"), ("poweredger640", ""))
        self.assertEqual(facts.normalised("none"), ())

    def test_the_path(self) -> None:
        """The whole path, its last segment, and every segment are facts."""
        facts = Facts.of(("rhel", "rack 1", "ks.cfg"))
        self.assertEqual(facts.first("path"), "rhel/rack 1/ks.cfg")
        self.assertEqual(facts.first("file"), "ks.cfg")
        self.assertEqual(facts.labels["segment"], ("rhel", "rack 1", "ks.cfg"))

    def test_the_query(self) -> None:
        """Names are found in any case; a key that comes twice keeps both values, in order."""
        facts = Facts.of((), (("Rack", "a1"), ("rack", "b2"), ("rack", "a1"), ("empty", "")))
        self.assertEqual(facts.labels["rack"], ("a1", "b2"))
        self.assertEqual(facts.first("RACK"), "a1")
        self.assertIsNone(facts.first("empty"))

    def test_a_json_body(self) -> None:
        """
        Every scalar has its dotted path and its leaf name; array indexes are on the path only;
        numbers stay as they were sent, null is nothing.
        """
        facts = facts_of(PROXMOX)
        self.assertEqual(facts.first("dmi.chassis.serial"), "CHASSIS-1")
        self.assertEqual(facts.first("network_interfaces.1.mac"), "bc:24:11:00:00:02")
        self.assertEqual(facts.first("size"), "500107862016")
        self.assertEqual(facts.first("secure_boot"), "false")
        self.assertEqual(facts.first("isorelease"), "1")
        self.assertIsNone(facts.first("token"))
        self.assertEqual(Facts.of((), body=b'{"a": 1e400}').first("a"), "1e400")

    def test_reserved_names_are_the_servers(self) -> None:
        """
        A query or body that says ``path``, ``machine`` … sets no fact, at the top or as a leaf;
        it is a value all the same.
        """
        body = dict.fromkeys(RESERVED, "body-value") | {"disks": [{"path": "/dev/sda"}]}
        facts = facts_of(body, tuple((name.upper(), "query-value") for name in RESERVED))
        self.assertEqual(facts.first("path"), "answer")
        self.assertEqual(facts.first("segment"), "answer")
        self.assertIsNone(facts.first("machine"))
        self.assertIsNone(facts.first("group"))
        self.assertEqual(facts.first("disks.0.path"), "/dev/sda")
        self.assertIn("queryvalue", facts.values)
        self.assertIn("bodyvalue", facts.values)
        self.assertEqual(facts.bound("pve1").first("machine"), "pve1")

    def test_any_json_is_a_body(self) -> None:
        """A list or a bare string is JSON as well, whatever the client calls it."""
        self.assertEqual(Facts.of((), body=b'["ab:cd", 12]').values, ("abcd", "12"))
        self.assertEqual(Facts.of((), body=b' "Serial-9"\n').values, ("serial9",))

    def test_a_body_that_is_no_json_is_one_value(self) -> None:
        """It is never a fact, and blanks or lines in it make no second value."""
        facts = Facts.of((), body=b"Serial: 77\nmac \xff98:FA:9B:50:D8:10")
        self.assertEqual(facts.values, ("serial77mac98fa9b50d810",))
        self.assertEqual(facts.names, ())

    def test_broken_json_that_says_it_is_json(self) -> None:
        """S44: it is refused, and said so; an empty body is no JSON and no error."""
        for body in (b'{"dmi": ', b"{} {}", b"NaN", b"\xff\xfe", b"9" * 10 + b"x"):
            with self.assertRaises(MalformedRequest):
                Facts.of((), body=body, declared_json=True)
        self.assertEqual(Facts.of((), body=b" ", declared_json=True).values, ())

    def test_values_stay_separate(self) -> None:
        """Two values never join into a third that nobody sent."""
        facts = Facts.of(("98fa9b",), (("a", "50d810"), ("b", "50:d8:10"), ("c", "--")))
        self.assertEqual(facts.values, ("98fa9b", "50d810"))


class PrecedenceTests(SynchronousTestCase):
    """The table in docs/answers.md."""

    def test_the_querys_mac_is_the_booting_interface(self) -> None:
        facts = facts_of(PROXMOX, (("mac", "52-54-00-aa-bb-cc"),))
        self.assertEqual(facts.first("mac"), "52-54-00-aa-bb-cc")
        self.assertEqual(facts.mac, MAC("525400aabbcc"))

    def test_an_address_in_the_path_comes_next(self) -> None:
        """Our own scripts put ``${netX/mac}`` there for installers that drop a query."""
        facts = Facts.of(("debian", "52-54-00-aa-bb-cc", "preseed.cfg"), (("x", "y"),))
        self.assertEqual(facts.first("mac"), "52-54-00-aa-bb-cc")
        self.assertEqual(facts.mac, MAC("525400aabbcc"))

    def test_a_body_that_is_an_address_and_nothing_else(self) -> None:
        """So ``rescriptum render MAC`` fills what a machine of that address would."""
        self.assertEqual(Facts.of((), body=b"52:54:00:aa:bb:cc").first("mac"), "52:54:00:aa:bb:cc")
        self.assertIsNone(Facts.of((), body=b"52:54:00:aa:bb:cc!").first("mac"))

    def test_the_one_interface_with_link(self) -> None:
        """A body that tells which cable is in names the interface by that."""
        body = {"nics": [{"link": False, "mac": "m1"}, {"link": True, "mac": "m2"}, {"mac": "m3"}]}
        facts = facts_of(body)
        self.assertEqual(facts.labels["mac"], ("m2", "m1", "m3"))

    def test_two_with_link_are_none(self) -> None:
        """Then, and where ``link`` is a name as in Proxmox's body, the first one it is."""
        body = {"nics": [{"link": "no", "mac": "m1"}, {"link": "UP", "mac": "m2"}] * 2}
        self.assertEqual(facts_of(body).first("mac"), "m1")
        self.assertEqual(facts_of(PROXMOX).first("mac"), "bc:24:11:00:00:01")
        self.assertEqual(facts_of(PROXMOX).mac, MAC("bc2411000001"))

    def test_the_systems_serial(self) -> None:
        """Not the board's, which comes first in the body, nor the query's."""
        self.assertEqual(facts_of(PROXMOX, (("serial", "Q"),)).first("serial"), "SYS-1")
        del_system = {"dmi": {"baseboard": {"serial": "BOARD-1"}}}
        self.assertEqual(facts_of(del_system, (("serial", "Q"),)).first("serial"), "Q")
        self.assertEqual(facts_of(del_system).first("serial"), "BOARD-1")

    def test_no_address_at_all(self) -> None:
        self.assertIsNone(Facts.of(("x",), (("mac", "none"),)).mac)


class BoundsTests(SynchronousTestCase):
    def test_nesting(self) -> None:
        """At the bound it is read, one deeper refused; what overflows the parser is no JSON."""
        self.assertEqual(
            Facts.of((), body=b"[" * MAX_DEPTH + b"7" + b"]" * MAX_DEPTH).values[0], "7"
        )
        with self.assertRaises(MalformedRequest):
            Facts.of((), body=b"[" * (MAX_DEPTH + 1) + b"7" + b"]" * (MAX_DEPTH + 1))
        deep = b"[" * 500_000
        self.assertEqual(Facts.of((), body=deep).raw, deep)
        with self.assertRaises(MalformedRequest):
            Facts.of((), body=deep + b"]" * 500_000, declared_json=True)

    def test_scalars(self) -> None:
        self.assertEqual(len(facts_of([1] * MAX_VALUES).body), MAX_VALUES)
        with self.assertRaises(MalformedRequest):
            facts_of([1] * (MAX_VALUES + 1))

    def test_text_that_identities_are_looked_for_in(self) -> None:
        """Path and query come before a body that uses the room up; the rest is cut off."""
        facts = Facts.of(("machine-1",), body=b"x" * (MAX_TEXT + 50))
        self.assertEqual(facts.values[0], "machine1")
        self.assertEqual(sum(map(len, facts.values)), MAX_TEXT)

    def test_a_value_said_again_takes_no_room(self) -> None:
        facts = facts_of(["y" * (MAX_TEXT // 2)] * 3 + ["machine-1"])
        self.assertEqual(facts.values[-1], "machine1")

    def test_long_names(self) -> None:
        """
        A path longer than the bound is no fact, nor does what lies below pose as a shorter one;
        the values count.
        """
        body = {"k" * (MAX_LABEL + 1): {"dmi": {"system": {"serial": "forged"}}}}
        facts = facts_of(body, (("q" * 1000, "v"),))
        self.assertNotIn("dmi.system.serial", facts.names)
        self.assertIn("forged", facts.values)
        self.assertTrue(all(len(name) <= MAX_LABEL for name in facts.names))

    def test_a_number_without_end_is_text(self) -> None:
        """Python refuses to read long integers; they stay the digits that were sent."""
        self.assertEqual(Facts.of((), body=b"9" * 10_000).values, ("9" * 10_000,))

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(st.text(max_size=20), max_size=4).map(tuple),
        st.lists(st.tuples(st.text(max_size=8), st.text(max_size=20)), max_size=5).map(tuple),
        st.binary(max_size=200) | st.from_regex(rb"[\[\]{}\",:0-9a-z ]{0,60}", fullmatch=True),
        st.booleans(),
    )
    def test_anything_is_facts_or_malformed(
        self,
        segments: tuple[str, ...],
        query: tuple[tuple[str, str], ...],
        body: bytes,
        declared: bool,
    ) -> None:
        """No other error, and every value is normalised."""
        try:
            facts = Facts.of(segments, query, body, declared)
        except MalformedRequest:
            return
        self.assertTrue(all(value and normalise(value) == value for value in facts.values))
        self.assertEqual(len(set(facts.values)), len(facts.values))
        self.assertTrue(
            all(texts and "" not in texts for texts in facts.labels.values()) or segments
        )
        self.assertIsInstance(facts.mac, MAC | None)

    @settings(max_examples=200, deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=12),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.text(max_size=8), inner, max_size=4)
            ),
            max_leaves=20,
        )
    )
    def test_every_string_of_a_body_is_a_value(self, body: object) -> None:
        """Wherever it stands, as a value of its own."""
        values = facts_of(body).values
        todo = [body]
        while todo:
            match todo.pop():
                case str() as text:
                    self.assertIn(normalise(text) or values[0], values)
                case dict() as table:
                    todo.extend(table.values())
                case list() as array:
                    todo.extend(array)
