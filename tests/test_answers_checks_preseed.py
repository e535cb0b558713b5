"""Tests for ``rescriptum.answers.checks.preseed``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.preseed import check

GOOD = """#_preseed_V1
# with a comment
d-i debian-installer/locale string en_US.UTF-8
d-i netcfg/get_hostname string node
d-i netcfg/wireless_wep string
d-i partman/confirm boolean true
tasksel tasksel/first multiselect standard, ssh-server
popularity-contest popularity-contest/participate boolean false
keyboard-configuration keyboard-configuration/xkb-keymap select us
d-i partman/confirm seen false
ubiquity partman-auto/method string lvm
d-i preseed/late_command string \\
    in-target apt-get -y install curl; \\
    wget -q -O- --post-data="" http://192.0.2.10:8000/installed
"""


def found(text: str) -> list[str]:
    """:returns: each finding with its severity in front."""
    return [f"{each.severity.value} {each}" for each in check(text.encode()).findings]


class PreseedTests(SynchronousTestCase):
    def test_a_good_one(self) -> None:
        self.assertEqual(found(GOOD), [])
        self.assertEqual(found(GOOD.replace("\n", "\r\n")), [])
        self.assertEqual(check(b"").kind, "preseed")

    def test_mistakes(self) -> None:
        for line, said in (
            (
                "d-i time/zone",
                "problem line 1: want owner, question, type and value, as d-i time/zone string UTC",
            ),
            (
                "d-i time/zone strng UTC",
                "problem line 1: want a type before the value: select, boolean, string, "
                "multiselect, note, password, text or title; did you mean string?",
            ),
            (
                "d-i partman/confirm boolean yes",
                "problem line 1: partman/confirm: want true or false, not 'yes'",
            ),
            (
                "d-i partman/confirm boolean",
                "problem line 1: partman/confirm: want true or false, not ''",
            ),
            (
                "d-i partman/confirm boolean  true",
                "warning line 1: partman/confirm: the blanks around true belong to it",
            ),
            (
                "di netcfg/get_hostname string x",
                "warning line 1: the owner of netcfg/get_hostname is d-i, not 'di'",
            ),
            (
                "netcfg netcfg/get_hostname string x",
                "warning line 1: the owner of netcfg/get_hostname is d-i, not 'netcfg'",
            ),
            (
                "d-i get_hostname string x",
                "warning line 1: 'get_hostname' is no question: want one as netcfg/get_hostname",
            ),
        ):
            self.assertEqual(found(line + "\n"), [said])

    def test_a_value_that_goes_on(self) -> None:
        """What was meant to belong to the line above, and does not."""
        first = "d-i preseed/late_command string one;"
        said = "if this goes on from the line above, end that one with \\"
        for text, line in ((f"{first}\n  in-target two three\n", 2), (f"\n{first}\ncp a b c\n", 3)):
            [one] = found(text)
            self.assertTrue(one.startswith(f"problem line {line}: "), one)
            self.assertTrue(one.endswith(said), one)
        self.assertEqual(
            found(f"{first} \\ \nd-i time/zone string UTC\n"),
            ["warning line 1: blanks behind the \\: the line does not go on; remove them"],
        )

    def test_a_comment_that_goes_on(self) -> None:
        """It takes an answer with it, unless a comment or nothing follows."""
        said = "warning line 1: this comment ends in \\ and takes the next line with it"
        self.assertEqual(found("# a \\\nd-i time/zone string UTC\n"), [said])
        self.assertEqual(
            found("#d-i a/b string \\\n# one two three \\\n# c\n# d \\\n\n# e \\ \n"), []
        )

    def test_what_is_answered_twice(self) -> None:
        """The later line counts: where documents are laid together that is as it should be."""
        text = "d-i time/zone string UTC\nd-i time/zone seen true\nd-i time/zone string CET\n"
        [one] = check(text.encode()).findings
        self.assertEqual(
            str(one), "line 3: time/zone is answered in line 1 too: the last one counts"
        )
        self.assertTrue(one.repeats)

    @settings(max_examples=300, deadline=None)
    @given(st.text(alphabet="d-i/# \\\n\tbooleantrue", max_size=80).map(str.encode) | st.binary())
    def test_anything_is_checked(self, data: bytes) -> None:
        """Whatever it is: findings on lines that it has, and no exception."""
        for each in check(data).findings:
            self.assertTrue(1 <= each.line <= data.count(b"\n") + 1)
