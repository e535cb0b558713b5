"""Tests for ``rescriptum.answers.checks.ipxe``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.ipxe import check
from rescriptum.boot.scripts import Unclaimed, autoexec, bootstrap

GOOD = """#!ipxe
# a comment with ${ in it
set base http://192.0.2.10:8001 ; isset ${net0/mac} || goto no_mac
kernel ${base}/linux ds=nocloud;s=http://x/ BOOTIF=01-${netX/mac:hexhyp} || goto failed
initrd ${base}/initrd && boot
:no_mac echo no address
${cmd} x
goto ${next}
menu Choose \\
  one
item --key a a A
choose --timeout 5000 target && goto ${target}
  :failed
exit 1 # goto nowhere
"""


def found(text: str) -> list[str]:
    """:returns: each finding with its severity in front."""
    return [f"{each.severity.value} {each}" for each in check(text.encode()).findings]


class ScriptTests(SynchronousTestCase):
    def test_a_good_one(self) -> None:
        self.assertEqual(found(GOOD), [])
        self.assertEqual(found(GOOD.replace("\n", "\r\n")), [])
        self.assertEqual(check(b"").kind, "iPXE script")

    def test_mistakes(self) -> None:
        for written, instead, said in (
            (
                "#!ipxe",
                "#ipxe",
                "problem line 1: want #!ipxe for the first line: else iPXE does not",
            ),
            ("#!ipxe", "\n#!ipxe", "problem line 1: want #!ipxe for the first line"),
            ("&& boot", "&& bot", "warning line 5: unknown command 'bot'; did you mean boot?"),
            ("menu Choose", "men Choose", "warning line 9: unknown command 'men'"),
            (
                "initrd ${base}/",
                "initrd ${base/",
                "problem line 5: '${base/initrd': want a } for each",
            ),
            (
                "${net0/mac}",
                "${net0 /mac}",
                "problem line 3: '${net0': want a } for each ${, and no blank",
            ),
            ("  :failed", "", "problem line 4: goto failed: there is no :failed"),
            (":no_mac", ":nomac", "goto no_mac: there is no :no_mac; did you mean nomac?"),
            (
                "${cmd} x",
                ":failed",
                "warning line 13: :failed is in line 7 too: goto failed goes there",
            ),
        ):
            self.assertIn(written, GOOD)
            text = GOOD.replace(written, instead)
            self.assertTrue(any(said in each for each in found(text)), (said, found(text)))

    def test_settings_in_settings(self) -> None:
        self.assertEqual(found("#!ipxe\necho ${${a}b} }{ $x ${}\n"), [])
        self.assertEqual(len(found("#!ipxe\necho ${${a}b\n")), 1)

    def test_a_last_line_that_goes_on(self) -> None:
        """Nothing follows it, and it is looked at all the same."""
        self.assertEqual(
            found("#!ipxe\nbot \\"), ["warning line 2: unknown command 'bot'; did you mean boot?"]
        )

    def test_our_own_scripts(self) -> None:
        """What machines run first has nothing wrong with it."""
        for script in (
            *(bootstrap("http://192.0.2.1:8001", "http://192.0.2.1:8000", e) for e in Unclaimed),
            autoexec("http://192.0.2.1:8001", 8001),
        ):
            self.assertEqual(found(script), [])

    @settings(max_examples=300, deadline=None)
    @given(st.text(alphabet="#!ipxe :${}\\\ngoto&|;", max_size=60).map(str.encode) | st.binary())
    def test_anything_is_checked(self, data: bytes) -> None:
        """Whatever it is: findings on lines that it has, and no exception."""
        for each in check(data).findings:
            self.assertTrue(1 <= each.line <= data.count(b"\n") + 1)
