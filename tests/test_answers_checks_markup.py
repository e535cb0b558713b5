"""Tests for ``rescriptum.answers.checks.markup``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.finding import Check
from rescriptum.answers.checks.markup import check, check_autoyast, check_unattend

PROFILE = """<?xml version="1.0"?>
<!DOCTYPE profile>
<profile xmlns="http://www.suse.com/1.0/yast2ns" xmlns:config="http://www.suse.com/1.0/configns">
  <!-- a comment -->
  <general><mode><confirm config:type="boolean">false</confirm></mode></general>
  <partitioning t="list"><drive><use>all</use></drive></partitioning>
  <users config:type="list">
    <user><username>root</username><uid config:type="integer"> 0 </uid></user>
    <user><username>x</username><encrypted t="boolean">true</encrypted></user>
  </users>
  <bootloader><global><timeout config:type="symbol">x</timeout></global></bootloader>
</profile>
"""
UNATTEND = """<?xml version="1.0" encoding="utf-8"?>
<unattend xmlns="urn:schemas-microsoft-com:unattend">
  <settings pass="windowsPE">
    <component name="Microsoft-Windows-Setup" processorArchitecture="amd64"
      publicKeyToken="31bf3856ad364e35" language="neutral" versionScope="nonSxS"><X/></component>
  </settings>
  <settings pass="oobeSystem"><x xmlns="urn:x"/></settings>
  <servicing/>
</unattend>
"""


def found(text: str, by: Check = check) -> list[str]:
    """:returns: each finding with its severity in front."""
    return [f"{each.severity.value} {each}" for each in by(text.encode()).findings]


class ProfileTests(SynchronousTestCase):
    def test_a_good_one(self) -> None:
        for by in check, check_autoyast:
            self.assertEqual(found(PROFILE, by), [])
            self.assertEqual(by(PROFILE.encode()).kind, "AutoYaST profile")

    def test_mistakes(self) -> None:
        for written, instead, said in (
            (
                "yast2ns",
                "yast",
                'problem /profile: want xmlns="http://www.suse.com/1.0/yast2ns", not '
                "'http://www.suse.com/1.0/yast'",
            ),
            (
                ' t="list"',
                "",
                'warning /profile/partitioning: want config:type="list" for partition',
            ),
            (
                ">false<",
                ">no<",
                "problem /profile/general/mode/confirm: want true or false, not 'no'",
            ),
            (
                "> 0 <",
                ">zero<",
                "problem /profile/users/user[1]/uid: want a whole number, not 'zero'",
            ),
            (
                '"symbol"',
                '"symbl"',
                "warning /profile/bootloader/global/timeout: unknown type 'symbl'; did you mean "
                "symbol?",
            ),
        ):
            self.assertIn(written, PROFILE)
            text = PROFILE.replace(written, instead)
            self.assertTrue(any(said in each for each in found(text)), (said, found(text)))

    def test_rules(self) -> None:
        rules = "<autoinstall xmlns='http://www.suse.com/1.0/yast2ns'/>"
        self.assertEqual(check_autoyast(rules.encode()).kind, "AutoYaST rules")

    def test_the_root_says_whose_it_is(self) -> None:
        """By its extension a document is somebody's, or may be anybody's."""
        self.assertEqual((check(b"<a/>").kind, found("<a/>")), ("", []))
        self.assertEqual(
            found("<a/>", check_autoyast), ["problem want the root profile or autoinstall, not 'a'"]
        )
        self.assertEqual(found("<a/>", check_unattend), ["problem want the root unattend, not 'a'"])
        [one] = found("<a>")
        self.assertTrue(one.startswith("problem not XML: "), one)


class UnattendTests(SynchronousTestCase):
    def test_a_good_one(self) -> None:
        for by in check, check_unattend:
            self.assertEqual(found(UNATTEND, by), [])
            self.assertEqual(by(UNATTEND.encode()).kind, "Windows answer file")

    def test_mistakes(self) -> None:
        setup = "/unattend/settings[pass=windowsPE]/component[name=Microsoft-Windows-Setup]"
        for written, instead, said in (
            (
                ' xmlns="urn:schemas-microsoft-com:unattend"',
                "",
                'problem /unattend: want xmlns="urn:schemas-microsoft-com:unattend"',
            ),
            (
                '"oobeSystem"',
                '"oobesystem"',
                "problem /unattend/settings[pass=oobesystem]: 'oobesystem' is no pass: want "
                "windowsPE, offlineServicing, generalize, specialize, auditSystem, auditUser or "
                "oobeSystem; did you mean oobeSystem?",
            ),
            (' pass="oobeSystem"', "", "problem /unattend/settings[2]: the pass is missing: want "),
            (
                '"amd64"',
                '"x64"',
                f"warning {setup}: unknown architecture 'x64'; did you mean amd64?",
            ),
            (
                'language="neutral" versionScope="nonSxS"',
                "",
                f"warning {setup}: language, versionScope missing: Windows passes the component",
            ),
        ):
            self.assertIn(written, UNATTEND)
            text = UNATTEND.replace(written, instead)
            self.assertTrue(any(said in each for each in found(text)), (said, found(text)))

    @settings(max_examples=200, deadline=None)
    @given(
        st.text(alphabet="<>/=\"'&; \nprofileunattendx:t", max_size=60).map(str.encode)
        | st.binary()
    )
    def test_anything_is_checked(self, data: bytes) -> None:
        """Whatever it is: findings, and no exception."""
        for by in check, check_autoyast, check_unattend:
            self.assertIsInstance(by(data).findings, tuple)

    def test_no_entity_is_followed(self) -> None:
        """Neither to a file nor into a laugh."""
        bomb = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><profile>&y;</profile>'
        self.assertEqual(len(found(bomb)), 1)
        text = "<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><unattend>&f;</unattend>"
        self.assertNotIn("root:", "".join(found(text)))
