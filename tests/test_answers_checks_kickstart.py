"""Tests for ``rescriptum.answers.checks.kickstart``."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.answers.checks.kickstart import check

GOOD = """# a comment
lang en_US.UTF-8
keyboard us
timezone Europe/Vienna --utc
url --url="http://192.0.2.10:8001/rocky/file/"
rootpw --iscrypted $6$x   # 'comment
clearpart --all
autopart --type=lvm
reboot

%packages
@^minimal-environment
-kernel # x
%end

%post --log=/root/post.log
echo "it's %end of %nothing"
cat <<EOF
%include-like
EOF
%end
%addon com_redhat_kdump --disable
%end
"""


def found(text: str) -> list[str]:
    """:returns: each finding with its severity in front."""
    return [f"{each.severity.value} {each}" for each in check(text.encode()).findings]


class KickstartTests(SynchronousTestCase):
    def test_a_good_one(self) -> None:
        self.assertEqual(found(GOOD), [])
        self.assertEqual(check(b"").kind, "kickstart")

    def test_mistakes(self) -> None:
        for written, instead, said in (
            (
                "autopart ",
                "autoprat ",
                "warning line 8: unknown command 'autoprat'; did you mean autopart?",
            ),
            (
                "autopart --type=lvm",
                "",
                "warning nothing says how the disk is laid out (autopart): the installer may stop "
                "and ask",
            ),
            (
                "rootpw",
                "#",
                "warning nothing says who may log in (rootpw or user): the installer may",
            ),
            (
                "lang ",
                "# ",
                "warning nothing says the language (lang): the installer may stop and ask",
            ),
            ('file/"', "file/", "problem line 5: "),
            (
                "-kernel # x\n%end",
                "",
                "problem line 15: %packages of line 11 has no %end before %post",
            ),
            ("reboot", "%end", "problem line 9: %end, and no section is open"),
            ("reboot", "%include", "problem line 9: %include of which file?"),
            ("%packages", "%package", "unknown section '%package'; did you mean %packages?"),
            ("reboot", "install", "warning line 9: install is refused by RHEL 9 and Fedora"),
            ("--disable\n%end", "", "problem line 22: %addon has no %end"),
        ):
            self.assertIn(written, GOOD)
            text = GOOD.replace(written, instead)
            self.assertTrue(any(said in each for each in found(text)), (said, found(text)))

    def test_quotes_are_closed(self) -> None:
        """A password in them is nobody's affair who reads the log of a build."""
        [one] = found(GOOD.replace('file/"', "file/"))
        self.assertTrue(one.endswith("no closing quotation"), one)
        for line in 'rootpw "secret', "  rootpw --plaintext 'secret":
            self.assertEqual(
                found(f"{GOOD}{line}\n"), ["problem line 24: 'rootpw': no closing quotation"]
            )

    def test_a_word_without_an_end(self) -> None:
        """Something else than a kickstart: it is said in a line, and soon."""
        for word in "<a>" * 300_000, "%" + "x" * 300_000:
            for each in found(word):
                self.assertLess(len(each), 200)

    def test_what_another_file_says_is_not_missed(self) -> None:
        for text in (
            "%include /tmp/x\n",
            "%ksappend http://x\n",
            "%packages\n%include /tmp/x\n%end\n",
        ):
            self.assertEqual(found(text), [])
        self.assertEqual(len(found("text\n")), 5)

    def test_sections_that_never_end(self) -> None:
        """However many: each is told, and none is another's inside."""
        lines = found("%pre\n" * 30)
        self.assertEqual(lines[0], "problem line 2: %pre of line 1 has no %end before %pre")
        self.assertEqual(lines[29], "problem line 30: %pre has no %end")
        self.assertEqual(len(found("%pre\n" * 5000)), 50)

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(
            st.sampled_from(
                ["%pre", "%end", "%include", "lang x", "'", "#", "", "\\", '"a"', "%x", " "]
            )
        ).map(lambda each: "\n".join(each).encode())
        | st.binary(max_size=40)
    )
    def test_anything_is_checked(self, data: bytes) -> None:
        """Whatever it is: findings on lines that it has, and no exception."""
        for each in check(data).findings:
            self.assertTrue(0 <= each.line <= data.count(b"\n") + 1)
