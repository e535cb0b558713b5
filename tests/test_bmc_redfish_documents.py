"""Tests for ``rescriptum.bmc.redfish.documents``: whatever a BMC sends is read, or refused."""

import contextlib  # trial takes a name "suppress" for its own
import gzip
import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.bmc.redfish import inventory, override, resets, slots, tasks, upkeep
from rescriptum.bmc.redfish.accounts import account_in
from rescriptum.bmc.redfish.documents import (
    LONGEST,
    LONGEST_PATH,
    LONGEST_TEXT,
    MEMBERS,
    decoded,
    inner,
    link,
    members,
    number,
    path_of,
    text,
    texts,
    unpacked,
)
from rescriptum.bmc.redfish.etags import Tag, tag_of
from rescriptum.bmc.redfish.replies import Mask, Reply, declined, messages, same_with_slash
from rescriptum.bmc.redfish.systems import chosen
from rescriptum.contract.bmc import BmcRefusal, BootTarget, SetOverride

#: Names that mean something, so that what is made up is often nearly right.
NAMES = (
    "@odata.id",
    "@odata.etag",
    "Members",
    "Links",
    "PowerState",
    "Actions",
    "#ComputerSystem.Reset",
    "target",
    "@Redfish.ActionInfo",
    "ResetType@Redfish.AllowableValues",
    "Parameters",
    "Name",
    "AllowableValues",
    "Boot",
    "BootSourceOverrideTarget",
    "BootSourceOverrideTarget@Redfish.AllowableValues",
    "BootSourceOverrideEnabled",
    "BootSourceOverrideMode",
    "@Redfish.Settings",
    "SettingsObject",
    "error",
    "@Message.ExtendedInfo",
    "MessageId",
    "MessageArgs",
    "Message",
    "TaskState",
    "TaskStatus",
    "TaskMonitor",
    "PercentComplete",
    "Messages",
    "MediaTypes",
    "Inserted",
    "Image",
    "MACAddress",
    "MemorySummary",
    "TotalSystemMemoryGiB",
    "ProcessorSummary",
    "Id",
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(("/redfish/v1/Systems/1", "On", "Pxe", "Completed", "CD", "ResetType")),
    lambda inside: (
        st.lists(inside, max_size=4)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), inside, max_size=6)
    ),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=5), VALUES, max_size=8)


class DecodingTests(SynchronousTestCase):
    @given(st.binary())
    def test_any_bytes(self, body: bytes) -> None:
        """One error, and no other."""
        try:
            decoded(body)
        except BmcRefusal as e:
            self.assertEqual(e.code, "bad-response")

    @given(VALUES)
    def test_any_json(self, value: object) -> None:
        body = json.dumps(value).encode()
        if isinstance(value, dict):
            self.assertEqual(set(decoded(body)), set(value))
        else:
            self.assertRaises(BmcRefusal, decoded, body)

    def test_nothing_is_an_empty_document(self) -> None:
        self.assertEqual((decoded(b""), decoded(b" \r\n")), ({}, {}))

    @given(st.binary())
    def test_any_packed_bytes(self, body: bytes) -> None:
        try:
            unpacked(body, "gzip")
        except BmcRefusal as e:
            self.assertEqual(e.code, "bad-response")

    def test_what_unpacks_to_too_much(self) -> None:
        """Up to the bound, and not a byte more (a bomb is never unpacked)."""
        self.assertEqual(len(unpacked(gzip.compress(b" " * LONGEST), "gzip")), LONGEST)
        for size in (LONGEST + 1, 50 * LONGEST):
            self.assertRaises(BmcRefusal, unpacked, gzip.compress(b" " * size), "gzip")
        self.assertRaises(BmcRefusal, unpacked, b"x", "br")
        self.assertRaises(BmcRefusal, unpacked, gzip.compress(b"x")[:-1], "gzip")
        self.assertEqual(unpacked(b"x", " Identity "), b"x")


class ReadersTests(SynchronousTestCase):
    @settings(max_examples=100)
    @given(DOCUMENTS, st.sampled_from((200, 202, 204, 301, 400, 404, 500, 503)))
    def test_any_document(self, document: dict[str, object], status: int) -> None:
        """No reader raises anything but a refusal, whatever stands where."""
        body = json.dumps(document).encode()
        reply = Reply(status, {"location": str(document.get("Id"))}, body)
        for read in (
            lambda: resets.state_of(document),
            lambda: resets.resetting(document),
            lambda: resets.allowed_by(document),
            lambda: override.described(override.boot_of(document)),
            lambda: override.settings_of(document),
            lambda: override.triple(document, SetOverride(BootTarget.CD, uefi=True)),
            lambda: override.holds(document, SetOverride(BootTarget.PXE)),
            lambda: messages(document),
            lambda: account_in(messages(document)),
            lambda: declined(reply, Mask.of("secret")),
            lambda: tasks.begun(reply),
            lambda: tasks.progress(reply, document),
            lambda: slots.is_disc(document),
            lambda: slots.holds(document, "http://x/y"),
            lambda: slots.inserting(document),
            lambda: inventory.machine(document),
            lambda: inventory.nics([document]),
            lambda: upkeep.entry(document),
            lambda: upkeep.chosen_log(members(document)),
            lambda: chosen(members(document), ""),
        ):
            with contextlib.suppress(BmcRefusal):
                read()

    @given(st.text(), st.text())
    def test_any_etag(self, header: str, inside: str) -> None:
        """What is sent is a header, and nothing after it."""
        for way in Tag:
            value = tag_of(way, header, inside)
            self.assertTrue(value is None or (value.isascii() and value.isprintable()))

    @given(st.text(), st.text())
    def test_any_redirect(self, path: str, location: str) -> None:
        there = same_with_slash(path, location, "https://bmc.example")
        self.assertIn(there.replace("/", ""), ("", path.replace("/", "")))

    def test_members_in_every_form(self) -> None:
        """A list of links, of paths, of whole documents, an object, within ``Links`` (W201)."""
        for document in (
            {"Members": [{"@odata.id": "/a"}, {"@odata.id": "/b"}]},
            {"Members": ["/a", "/b"]},
            {"Members": {"x": {"@odata.id": "/a"}, "y": {"@odata.id": "/b"}}},
            {"Links": {"Members": [{"@odata.id": "/a", "Id": "a"}, {"@odata.id": "/b"}]}},
            {"Members": [{"@odata.id": "/a"}, 7, None, {"@odata.id": 7}, {"@odata.id": "/b"}] * 2},
        ):
            self.assertEqual([each.path for each in members(document)], ["/a", "/b"])
        self.assertEqual([each.path for each in members({"Members": {"@odata.id": "/a"}})], ["/a"])
        nothing: tuple[dict[str, object], ...] = (
            {},
            {"Members": "x"},
            {"Members": None},
            {"Links": []},
        )
        for empty in nothing:
            self.assertEqual(members(empty), ())

    def test_members_are_bounded(self) -> None:
        many = {"Members": [{"@odata.id": f"/{each}"} for each in range(MEMBERS + 1)]}
        self.assertEqual(len(members(many)), MEMBERS)
        lots = {"x": ["y" * (LONGEST_TEXT + 1)] * (MEMBERS + 1)}
        self.assertEqual([len(each) for each in texts(lots, "x") or ()], [LONGEST_TEXT] * MEMBERS)

    def test_a_path_is_all_of_a_url(self) -> None:
        """The BMC's own idea of its name leads nowhere (W241)."""
        for url, path in (
            ("/redfish/v1/TaskService/Tasks/1", "/redfish/v1/TaskService/Tasks/1"),
            ("https://169.254.1.1/redfish/v1/x?a=b", "/redfish/v1/x?a=b"),
            ("http://user@evil:80/x", "/x"),
            ("//evil.example/x", "/x"),
            ("/x#/y/0", "/x"),
            ("/Slot 1", "/Slot%201"),
            ("/ä", "/%C3%A4"),
            ("/a%20b", "/a%20b"),
            ("https://evil.example", ""),
            ("https:////evil.example/x", ""),
            ("x", ""),
            ("", ""),
            (None, ""),
            (7, ""),
            ("/x\r\nHost: evil", ""),
            ("/\ud800", ""),
            ("/" + "x" * LONGEST_PATH, ""),
        ):
            self.assertEqual(path_of(url), path, url)

    @given(st.text())
    def test_any_path(self, url: str) -> None:
        """What is asked for is a path, on one line, in ASCII."""
        path = path_of(url)
        self.assertTrue(path == "" or (path.startswith("/") and not path.startswith("//")))
        self.assertTrue(path.isascii() and path.isprintable() and " " not in path)

    def test_values_of_the_wrong_kind_are_none(self) -> None:
        document = {"a": True, "b": "7", "c": 2.5, "d": 10**400, "e": {"@odata.id": "/x"}, "f": []}
        self.assertEqual([number(document, each) for each in "abcd"], [None, None, 2.5, None])
        self.assertEqual((text(document, "a"), text(document, "f"), text({}, "a")), ("", "", ""))
        self.assertEqual((link(document, "e"), link(document, "f"), link(None)), ("/x", "", ""))
        self.assertEqual((inner(document, "a", "b"), inner([])), ({}, {}))
        self.assertEqual(text({"a": " x\n\x1b "}, "a"), "x\\n\\x1b")
