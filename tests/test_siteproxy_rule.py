"""Tests for ``rescriptum.siteproxy.rule``: which requests are made, and where they connect to."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from hyperlink import URL
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from rescriptum.contract.proxying import HttpProxyRequest
from rescriptum.contract.specs import ProxyTarget
from rescriptum.siteproxy import addresses
from rescriptum.siteproxy.refusing import Denied, Rule
from rescriptum.siteproxy.rule import Allowed, Lookup, check
from rescriptum.siteproxy.url import Target, parsed
from tests.proxycases import ALLOWED, BMCS, CASES, NETWORKS, NODE, REFUSED, SPEC, Case


def verdict(case: Case) -> Allowed | Lookup:
    """:raises Denied: as whoever looks a name up, when that is asked for, hears it."""
    made = check(case.request, SPEC, BMCS, NETWORKS)
    if isinstance(made, Lookup):
        made = check(case.request, SPEC, BMCS, NETWORKS, case.resolved)
    return made


#: Fragments of URLs that say something to some parser.
PIECES = st.sampled_from(
    [
        *(
            "http",
            "https",
            "://",
            "//",
            "/",
            "\\",
            "@",
            ":",
            "?",
            "#",
            ";",
            ".",
            "..",
            "%2e",
            "%2f",
        ),
        *("10.1.2.3", "127.0.0.1", "8.8.8.8", "[fc00::1]", "[::1]", "[", "]", "switch-1.lab"),
        *(
            "0x7f",
            "0",
            "1",
            "80",
            "redfish",
            "%2e",
            "%2f",
            "%72",
            "%25",
            " ",
            "\t",
            "\n",
            "ü",
            "%",
            "a",
            "_",
        ),
    ]
)
URLS = st.lists(PIECES, min_size=1, max_size=8).map("".join) | st.lists(PIECES, max_size=8).map(
    lambda pieces: "http://10.1.2.3" + "".join(pieces)
)
ADDRESSES = st.ip_addresses().map(str) | st.sampled_from(
    ["10.1.2.3", "10.77.0.1", "fd99::1", "127.0.0.1", "::1", "10.8.0.1", "10.9.0.5", "fe80::1%a"]
)


class RuleTests(SynchronousTestCase):
    def test_the_table(self) -> None:
        """Each URL is refused by its own rule, or connects to its own address."""
        self.assertGreater(len(CASES), 150)
        wrong = []
        for case in CASES:
            try:
                made = verdict(case)
                assert isinstance(made, Allowed)
                said = ("", str(made.address))
            except Denied as e:
                said = (e.rule.value, "")
            if said != (case.rule, case.address):
                wrong.append((case, said))
        self.assertEqual(wrong, [])

    def test_each_rule_refuses_something(self) -> None:
        self.assertEqual({each.rule for each in REFUSED}, {each.value for each in Rule})

    def test_what_was_read_is_what_is_sent(self) -> None:
        """Path and query as they were written, the host in one spelling, the port if it matters."""
        for url, authority, asked in (
            ("http://10.1.2.3", "10.1.2.3", "/"),
            ("HTTPS://10.1.2.3:443/A?b", "10.1.2.3", "/A?b"),
            ("https://10.1.2.3:80/A?b", "10.1.2.3:80", "/A?b"),
            ("http://10.1.2.3?x", "10.1.2.3", "/?x"),
            ("http://Switch-1.LAB//a;?", "switch-1.lab", "//a;?"),
            ("http://[FC00:0::1]:81/a/../b/%2E", "[fc00::1]:81", "/a/../b/%2E"),
        ):
            target = parsed(url)
            self.assertEqual((target.authority, target.asked), (authority, asked))
            self.assertEqual(parsed(target.url), target)

    def test_nothing_is_looked_up_in_vain(self) -> None:
        """Who breaks a rule that no address changes, is told so before a name is looked up."""
        for case in REFUSED:
            if case.resolved or case.rule in ("resolved",):
                continue
            with self.assertRaises(Denied, msg=case.url):
                check(case.request, SPEC, BMCS, NETWORKS)

    def test_without_targets(self) -> None:
        """Nothing is listed: nothing is allowed."""
        for case in ALLOWED:
            for spec in ((), (ProxyTarget(NODE),), (ProxyTarget("other", ("10.1.2.3",)),)):
                with self.assertRaises(Denied) as caught:
                    check(case.request, spec, BMCS, NETWORKS, case.resolved)
                self.assertEqual(caught.exception.rule, Rule.TARGET)

    def test_two_entries_of_one_machine(self) -> None:
        """The addresses of all of them are its own; how they are written does not matter."""
        spec = (ProxyTarget(NODE, ("10.1.2.3",)), ProxyTarget(NODE, ("::ffff:10.1.2.4", "FC00::1")))
        for url in ("http://10.1.2.3/", "http://10.1.2.4/", "http://[fc00:0::1]/"):
            self.assertIsInstance(check(HttpProxyRequest(NODE, url), spec, (), ()), Allowed)

    def test_a_network_of_mapped_addresses(self) -> None:
        """It is the IPv4 network that it maps."""
        networks = (IPv6Network("::ffff:10.1.0.0/112"),)
        with self.assertRaises(Denied) as caught:
            check(HttpProxyRequest(NODE, "http://10.1.2.3/"), SPEC, (), networks)
        self.assertEqual(caught.exception.rule, Rule.BMC)

    def test_a_refusal_repeats_no_secret(self) -> None:
        """Neither what a URL has for credentials, nor its query, nor what a header says."""
        for url in ("http://hunter2@10.1.2.3/", "http://10.1.2.3/?hunter2 ", "hunter2"):
            with self.assertRaises(Denied) as caught:
                check(HttpProxyRequest(NODE, url), SPEC, (), ())
            self.assertNotIn("hunter2", str(caught.exception))
            self.assertEqual(caught.exception.code, "request-denied")
        self.assertNotIn("hunter2", repr(HttpProxyRequest(NODE, "http://hunter2@a/")))

    @given(URLS, st.lists(ADDRESSES, max_size=4))
    def test_where_it_connects_to(self, url: str, resolved: list[str]) -> None:
        """
        Whatever is asked: nothing that is allowed leads to an address that is not private, or a
        BMC's, or neither listed nor behind a listed name.
        """
        case = Case(url, "", resolved=tuple(resolved))
        try:
            made = verdict(case)
        except Denied:
            return
        assert isinstance(made, Allowed)
        self.assertEqual(addresses.wrong(made.address), None)
        self.assertNotIn(str(made.address), BMCS)
        self.assertFalse(any(made.address in each for each in NETWORKS))
        if made.target.literal is None:
            self.assertIn(str(made.address), {str(addresses.parsed(each)) for each in resolved})
        else:
            self.assertEqual(made.address, addresses.plain(made.target.literal))
        if made.target.host != "switch-1.lab":
            self.assertIn(str(made.address), SPEC[0].addresses)

    @given(URLS)
    def test_parsers_agree(self, url: str) -> None:
        """What is read at all, the standard library and hyperlink read alike."""
        try:
            target = parsed(url)
        except Denied:
            return
        self.agree(target, url)

    def test_parsers_agree_on_the_table(self) -> None:
        for case in CASES:
            try:
                self.agree(parsed(case.url), case.url)
            except Denied:
                continue

    def agree(self, target: Target, url: str) -> None:
        usual = {"http": 80, "https": 443}[target.scheme]
        split = urlsplit(url)
        self.assertEqual((split.scheme, split.port or usual), (target.scheme, target.port))
        self.assertEqual(self.host(split.hostname or ""), target.host)
        self.assertEqual((split.username, split.password), (None, None))
        read = URL.from_text(url)
        self.assertEqual(read.scheme.lower(), target.scheme)
        self.assertIn(read.port, (target.port, None))
        self.assertEqual(self.host(read.host), target.host)
        self.assertEqual(read.userinfo, "")

    def host(self, text: str) -> str:
        return str(ip_address(text)) if ":" in text else text.lower()


class AddressesTests(SynchronousTestCase):
    @given(st.ip_addresses(v=4))
    def test_forms_of_one_address(self, address: IPv4Address) -> None:
        """Mapped, behind NAT64 and as 6to4 it is judged as it is in itself."""
        value = int(address)
        for each in (
            IPv6Address((0xFFFF << 32) | value),
            IPv6Address((0x64FF9B << 96) | value),
            IPv6Address((0x2002 << 112) | (value << 80) | 1),
        ):
            self.assertEqual(addresses.wrong(each), addresses.wrong(address))
            self.assertIn(address, addresses.forms(each))

    @given(st.ip_addresses())
    def test_private(self, address: IPv4Address | IPv6Address) -> None:
        """What is allowed, the standard library takes for private too, but for transitions."""
        if addresses.wrong(address) is None:
            shared = IPv4Network("100.64.0.0/10")
            for form in addresses.forms(address)[-1:]:
                self.assertTrue(form.is_private or form in shared)
