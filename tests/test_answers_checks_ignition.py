"""Tests for ``rescriptum.answers.checks.ignition``."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.finding import Check
from rescriptum.answers.checks.ignition import check, check_json

GOOD = {
    "ignition": {
        "version": "3.4.0",
        "config": {"merge": [{"source": "https://x/a.ign"}], "replace": None},
        "timeouts": {"httpTotal": 30},
    },
    "storage": {
        "disks": [{"device": "/dev/sda", "partitions": [{"label": "var", "number": 0}]}],
        "filesystems": [{"device": "/dev/sda1", "format": "xfs", "path": "/var"}],
        "files": [
            {
                "path": "/etc/hostname",
                "mode": 420,
                "overwrite": True,
                "contents": {
                    "source": "data:,node",
                    "verification": {"hash": "sha256-" + "a" * 64},
                },
                "user": {"id": 0},
            }
        ],
        "directories": [{"path": "/srv", "mode": 493}],
        "links": [{"path": "/etc/localtime", "target": "../usr/share/zoneinfo/UTC"}],
        "luks": [{"name": "root", "device": "/dev/sda2", "clevis": {"tpm2": True}}],
        "raid": [{"name": "md", "level": "raid1", "devices": ["/dev/sdb", "/dev/sdc"]}],
    },
    "systemd": {
        "units": [
            {
                "name": "done.service",
                "enabled": True,
                "contents": "[Unit]\n[Install]\n",
                "dropins": [{"name": "10-a.conf", "contents": ""}],
            }
        ]
    },
    "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 A"]}]},
    "kernelArguments": {"shouldExist": ["quiet"]},
}
TEXT = json.dumps(GOOD)
#: Keys for documents made at random.
WORDS = {"version", "contents", "source", "storage", "disks", "files", "filesystems", "links"}
WORDS |= {"luks", "systemd", "units", "passwd", "users", "path", "mode", "name", "enabled"}
WORDS |= {"dropins", "device", "overwrite", "ignition", "config", "merge", "hash"}


def found(text: str, by: Check = check) -> list[str]:
    """:returns: each finding with its severity in front."""
    return [f"{each.severity.value} {each}" for each in by(text.encode()).findings]


class IgnitionTests(SynchronousTestCase):
    def test_a_good_one(self) -> None:
        """What is null is as good as not there."""
        for by in check, check_json:
            self.assertEqual(found(TEXT, by), [])
            self.assertEqual(by(TEXT.encode()).kind, "Ignition 3.4.0")

    def test_mistakes(self) -> None:
        for written, instead, said in (
            ('"3.4.0"', "3.4", 'problem ignition.version: want a version, as "3.4.0", not 3.4'),
            ('"3.4.0"', '"4.0.0"', "problem ignition.version: want a version of 2 or 3, not 4.0.0"),
            (
                '"3.4.0"',
                "null",
                'problem ignition.version: want a version, as "3.4.0"; it has none',
            ),
            ('"data:,node"', '"node"', "problem storage.files[0].contents.source: want a URL, as "),
            ('"data:,node"', '"ftp://x/"', "want a URL of http, https, tftp, s3, arn, gs, data, "),
            (
                '"/etc/hostname"',
                '"hostname"',
                "files[0].path: want an absolute path, not 'hostname'",
            ),
            ("420", '"0644"', "problem storage.files[0].mode: want a whole number, not text"),
            ("420", "70000", "want 0 to 4095, in decimal, not 70000"),
            (
                "420",
                "644",
                "warning storage.files[0].mode: 644 is decimal, octal 1204: for octal 644 "
                "write 420",
            ),
            (
                "sha256-",
                "sha1-",
                "hash: want sha512- and 128 hexadecimal digits, or sha256- and 64",
            ),
            (
                '"/srv"',
                '"/etc/hostname"',
                "problem storage.directories: path '/etc/hostname' is there",
            ),
            ('"/dev/sda1", "format": "xfs"', '"/dev/sda1"', "filesystems[0]: format is missing"),
            ('"target"', '"to"', "problem storage.links[0]: target is missing"),
            ('"source": "data:,node", ', "", "files[0]: overwrite needs contents with a source"),
            (
                '"done.service"',
                '"done"',
                "units[0].name: want a unit's name, as a.service, not 'done'",
            ),
            ("10-a.conf", "10-a", "dropins[0].name: want a name that ends in .conf, not '10-a'"),
            (
                "[Install]",
                "",
                "warning systemd.units[0]: enabled, and its contents have no [Install]",
            ),
            ('"name": "core", ', "", "problem passwd.users[0]: name is missing"),
            ("sshAuthorizedKeys", "sshAuthorizedKey", "did you mean sshAuthorizedKeys?"),
            ('"kernelArguments"', '"kernelArgs"', "warning kernelArgs: unknown key"),
            ('["quiet"]', '"quiet"', "kernelArguments.shouldExist: want a list, not text"),
        ):
            self.assertIn(written, TEXT)
            text = TEXT.replace(written, instead)
            self.assertTrue(any(said in each for each in found(text)), (said, found(text)))

    def test_entries_have_names_of_their_own(self) -> None:
        for section, name, key in (
            ("storage", "disks", "device"),
            ("storage", "filesystems", "device"),
            ("storage", "raid", "name"),
            ("storage", "luks", "name"),
            ("storage", "files", "path"),
            ("systemd", "units", "name"),
            ("passwd", "users", "name"),
        ):
            document = json.loads(TEXT)
            entries = document[section][name]
            entries.append(entries[0])
            said = f"problem {section}.{name}: {key} {entries[0][key]!r} is there twice"
            self.assertIn(said, found(json.dumps(document)))

    def test_the_second_specification(self) -> None:
        """Old Flatcar releases read it; only its outline is looked at."""
        old = {"ignition": {"version": "2.3.0"}, "networkd": {"units": [{"name": "x"}]}}
        self.assertEqual(found(json.dumps(old)), [])
        old["networkd"] = {"units": {}}
        self.assertEqual(
            found(json.dumps(old)), ["problem networkd.units: want a list, not a table"]
        )

    def test_other_json_is_nobodys(self) -> None:
        """By its extension alone a document is Ignition's, or may be anybody's."""
        for text in ("[]", '{"product": "x"}'):
            self.assertEqual((check_json(text.encode()).kind, found(text, check_json)), ("", []))
            self.assertEqual(check(text.encode()).kind, "Ignition")
            self.assertEqual(len(found(text)), 1)

    def test_what_is_no_json(self) -> None:
        [said] = found("{")
        self.assertTrue(said.startswith("problem not JSON: "), said)

    @settings(max_examples=200, deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda each: (
                st.lists(each, max_size=3)
                | st.dictionaries(
                    st.sampled_from(sorted(WORDS)),
                    each,
                    max_size=4,
                )
            ),
            max_leaves=12,
        )
    )
    def test_anything_is_checked(self, document: object) -> None:
        """Whatever it is: findings, and no exception."""
        if isinstance(document, dict):
            document["ignition"] = {"version": "3.0.0"}
        for by in check, check_json:
            self.assertIsInstance(by(json.dumps(document).encode()).findings, tuple)

    @settings(max_examples=50, deadline=None)
    @given(st.binary(max_size=30))
    def test_any_bytes_are_checked(self, data: bytes) -> None:
        self.assertIsInstance(check(data).findings, tuple)

    def test_deep_nesting(self) -> None:
        self.assertEqual(len(found("[" * 100000)), 1)
        self.assertEqual(len(found("[" * 50000 + "]" * 50000)), 1)
