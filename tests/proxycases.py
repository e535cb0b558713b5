"""URLs and addresses of ``site.httpProxy``, each with the rule that refuses it."""

from ipaddress import ip_network

from attrs import frozen

from rescriptum.contract.proxying import HttpHeader, HttpProxyRequest, SecretHeader
from rescriptum.contract.specs import ProxyTarget
from rescriptum.siteproxy.addresses import Network

NODE = "switch-1"
#: Every address that a URL of the table leads to where it is allowed.
LISTED = (
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.7.7",
    "100.64.0.1",
    "100.127.255.254",
    "fd12:3456::7",
    "fc00::1",
    "64:ff9b::a01:203",
    "2002:a01:203::1",
    "switch-1.lab",
    "xn--bcher-kva.lab",
    # What may never be reached, though it is listed.
    "127.0.0.1",
    "::1",
    "169.254.169.254",
    "fe80::1",
    "224.0.0.1",
    "ff02::1",
    "0.0.0.0",
    "::",
    "192.0.2.1",
    "8.8.8.8",
    "2001:db8::1",
    "10.9.0.5",
    "10.8.0.1",
    "fd00:b::5",
    "bmc-1.lab",
    "bmc-2.lab",
)
SPEC = (ProxyTarget(NODE, LISTED), ProxyTarget("other", ("10.1.2.99", "other.lab")))
BMCS = frozenset(("10.9.0.5", "bmc-1.lab", "::ffff:10.9.0.6", "::ffff:a09:7"))
NETWORKS: tuple[Network, ...] = (ip_network("10.8.0.0/16"), ip_network("fd00:b::/32"))


@frozen
class Case:
    """
    One request.

    :ivar rule: that refuses it; empty: none does, and it goes to ``address``.
    :ivar resolved: what its name resolves to.
    """

    url: str
    rule: str
    address: str = ""
    resolved: tuple[str, ...] = ()
    method: str = ""
    headers: tuple[HttpHeader, ...] = ()
    secret_headers: tuple[SecretHeader, ...] = ()
    node: str = NODE

    @property
    def request(self) -> HttpProxyRequest:
        return HttpProxyRequest(self.node, self.url, self.method, self.headers, self.secret_headers)


def _all(rule: str, *urls: str) -> tuple[Case, ...]:
    return tuple(Case(each, rule) for each in urls)


def _named(rule: str, *resolved: str, url: str = "http://switch-1.lab/", to: str = "") -> Case:
    return Case(url, rule, to, resolved)


def _header(rule: str, name: str, value: str = "x") -> Case:
    address = "" if rule else "10.1.2.3"
    return Case("http://10.1.2.3/", rule, address, headers=(HttpHeader(name, value),))


ALLOWED = (
    Case("http://10.1.2.3", "", "10.1.2.3"),
    Case("http://10.1.2.3/", "", "10.1.2.3"),
    Case("HTTP://10.1.2.3/", "", "10.1.2.3"),
    Case("https://10.1.2.3:8443/a/b?c=d&e", "", "10.1.2.3"),
    Case("http://10.1.2.3:1/", "", "10.1.2.3"),
    Case("http://10.1.2.3:65535/", "", "10.1.2.3"),
    Case("http://172.16.0.1/", "", "172.16.0.1"),
    Case("http://172.31.255.254/", "", "172.31.255.254"),
    Case("http://192.168.7.7/", "", "192.168.7.7"),
    Case("http://100.64.0.1/", "", "100.64.0.1"),
    Case("http://100.127.255.254/", "", "100.127.255.254"),
    Case("http://[fd12:3456::7]/", "", "fd12:3456::7"),
    Case("http://[FD12:3456:0:0:0:0:0:7]:8080/", "", "fd12:3456::7"),
    Case("http://[fc00::1]/", "", "fc00::1"),
    Case("http://[::ffff:10.1.2.3]/", "", "10.1.2.3"),
    Case("http://[::ffff:a01:203]/", "", "10.1.2.3"),
    Case("http://[64:ff9b::10.1.2.3]/", "", "64:ff9b::a01:203"),
    Case("http://[2002:a01:203::1]/", "", "2002:a01:203::1"),
    Case("http://10.1.2.3/a//b", "", "10.1.2.3"),
    Case("http://10.1.2.3//a", "", "10.1.2.3"),
    Case("http://10.1.2.3/a;", "", "10.1.2.3"),
    Case("http://10.1.2.3/a?", "", "10.1.2.3"),
    Case("http://10.1.2.3?x", "", "10.1.2.3"),
    Case("http://10.1.2.3/a/../b", "", "10.1.2.3"),
    Case("http://10.1.2.3/api/redfish", "", "10.1.2.3"),
    Case("http://10.1.2.3/api//redfish", "", "10.1.2.3"),
    Case("http://10.1.2.3/?/redfish/v1", "", "10.1.2.3"),
    Case("http://10.1.2.3/100%25", "", "10.1.2.3"),
    Case("http://10.1.2.3/%C3%BC", "", "10.1.2.3"),
    Case("http://10.1.2.3/a@b:c", "", "10.1.2.3"),
    Case("http://10.1.2.3/red/fish", "", "10.1.2.3"),
    Case("http://10.1.2.3/", "", "10.1.2.3", method="GET"),
    Case("http://10.1.2.3/", "", "10.1.2.3", method="POST"),
    Case("http://10.1.2.3/", "", "10.1.2.3", method="PUT"),
    Case("http://10.1.2.3/", "", "10.1.2.3", method="DELETE"),
    _named("", "10.1.2.3", to="10.1.2.3"),
    _named("", "::ffff:10.1.2.3", to="10.1.2.3"),
    _named("", "10.77.0.1", to="10.77.0.1"),  # a listed name may be at any private address
    _named("", "fd99::1", "10.77.0.1", to="fd99::1"),
    _named("", "10.1.2.3", url="http://SWITCH-1.Lab/", to="10.1.2.3"),
    _named("", "10.1.2.3", url="http://xn--bcher-kva.lab/", to="10.1.2.3"),
    _named("", "10.1.2.3", "192.168.7.7", url="http://alias.lab/", to="10.1.2.3"),
    _named("", "10.1.2.3", url="http://my_host-2/", to="10.1.2.3"),
    _named("", "10.1.2.3", url="http://10.1.2.3.nip.io/", to="10.1.2.3"),
    _named("", "10.1.2.3", url="http://redfish.lab/", to="10.1.2.3"),
    _named("", *(f"10.77.0.{n}" for n in range(1, 65)), to="10.77.0.1"),
    _header("", "X-Token", "a b\tc"),
    _header("", "Accept", ""),
    _header("", "Authorization", "Basic eDp5"),
    Case("http://10.1.2.3/", "", "10.1.2.3", secret_headers=(SecretHeader("X-Key", "k"),)),
)

REFUSED = (
    # Whose addresses.
    *_all("target", "http://10.1.2.4/", "http://[fd12:3456::8]/", "http://10.1.2.99/"),
    *_all("target", "http://[64:ff9b::10.1.2.4]/", "http://[::ffff:10.1.2.4]/"),
    Case("http://10.1.2.3/", "target", node="nobody"),
    Case("http://10.1.2.3/", "target", node="other"),
    Case("nonsense", "target", node="nobody"),
    _named("target", "10.1.2.4", url="http://alias.lab/"),
    _named("target", "10.1.2.3", "10.1.2.4", url="http://alias.lab/"),
    _named("target", "10.1.2.99", url="http://other.lab/"),
    # Methods and headers.
    *(
        Case("http://10.1.2.3/", "method", method=each)
        for each in ("HEAD", "get", "PATCH", "OPTIONS", "CONNECT", "TRACE", "GET ", "G\r\nX: y")
    ),
    *(
        _header("header", each)
        for each in (
            "Host",
            "HOST",
            "Connection",
            "Keep-Alive",
            "TE",
            "Trailer",
            "Transfer-Encoding",
            "Upgrade",
            "Content-Length",
            "Proxy-Authorization",
            "Proxy-Connection",
            "Expect",
            "X-Original-URL",
            "X-HTTP-Method-Override",
            "A B",
            "A:",
            "A\r\nB",
            "Ä",
            "a" * 129,
        )
    ),
    *(
        _header("header", "X-A", each)
        for each in ("a\r\nHost: b", "a\nb", "a\rb", "a\0b", "ä", " a", "a ", "\t", "a\x7f")
    ),
    Case("http://10.1.2.3/", "header", secret_headers=(SecretHeader("host", "k"),)),
    # What is no URL.
    *_all("url", "10.1.2.3", "/path", "//10.1.2.3/", "http:/10.1.2.3/", "http:10.1.2.3", "x"),
    *_all("url", " http://10.1.2.3/", "http://10.1.2.3/\n", "ht\ttp://10.1.2.3/", "\u0131://a/"),
    *_all("url", "http://10.1.2.3/a b", "http://10.1.2.3/a\r\nX: y", "http://10.1.2.3/%"),
    *_all("url", "http://10.1.2.3/%zz", "http://10.1.2.3/%2", "http://10.1.2.3/#x"),
    *_all("url", "http://10.1.2.3/\\", "http://10.1.2.3/ü", "http://10.1.2.3/?ü"),
    *_all("url", "http://10.1.2.3/<", "http://10.1.2.3/[a]", "http://10.1.2.3/?a#b"),
    *_all("url", "http://10.1.2.3/%00", "http://10.1.2.3/a%0d%0ab", "http://10.1.2.3/%250a"),
    *_all("url", "http://10.1.2.3/%ff", "http://10.1.2.3/%c0%af", "http://10.1.2.3/%c2%ad"),
    *_all("scheme", "ftp://10.1.2.3/", "file:///etc/passwd", "gopher://10.1.2.3/", "ws://a/"),
    *_all("scheme", "httpx://10.1.2.3/", "https+unix://10.1.2.3/", "data://x"),
    *_all("userinfo", "http://u@10.1.2.3/", "http://u:p@10.1.2.3/", "http://@10.1.2.3/"),
    *_all("userinfo", "http://10.1.2.3@8.8.8.8/", "http://10.1.2.3#@8.8.8.8/"),
    *_all("userinfo", "http://10.1.2.3\\@8.8.8.8/", "http://10.1.2.3:80@8.8.8.8:80/"),
    *_all("port", "http://10.1.2.3:0/", "http://10.1.2.3:/", "http://10.1.2.3:65536/"),
    *_all("port", "http://10.1.2.3:080/", "http://10.1.2.3:+80/", "http://10.1.2.3:-1/"),
    *_all("port", "http://10.1.2.3:8_0/", "http://10.1.2.3:x/", "http://10.1.2.3:80:90/"),
    *_all("port", "http://[fc00::1]:/", "http://[fc00::1]:0/", "http://10.1.2.3:80 /"),
    *_all("port", "http://10.1.2.3:80\\8.8.8.8/", "http://10.1.2.3:99999999999/"),
    # Hosts.
    *_all("host", "http:///", "http://:80/", "http://./", "http://switch-1.lab./"),
    *_all("host", "http://a..b/", "http://.a/", "http://a b/", "http://a%2eb/", "http://%61/"),
    *_all("host", "http://switch-1%2elab/", "http://-a/", "http://a-/", "http://a!b/"),
    *_all("host", "http://10.1.2.3\\/", "http://10.1.2.3,a/", "http://10.1.2.3#/"),
    *_all("host", "http://" + "a" * 64 + "/", "http://" + "a." * 127 + "a/"),
    *_all("host", "http://bücher.lab/", "http://１０.1.2.3/", "http://10。1。2。3/"),
    *_all("host", "http://swıtch-1.lab/", "http://①⓪.1.2.3/", "http://10.1.2.3\u200b/"),
    *_all("host", "http://[10.1.2.3]/", "http://[fc00::1/", "http://[fc00::1]x/", "http://[]/"),
    *_all("host", "http://[v1.a]/", "http://[fc00::1::]/", "http://[::ffff:010.1.2.3]/"),
    *_all("host", "http://[fc00::12345]/", "http://[/", "http://fc00]/"),
    *_all("zone", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[fc00::1%251]/"),
    *_all("numeric-host", "http://167838211/", "http://0x0a010203/", "http://0xa.1.2.3/"),
    *_all("numeric-host", "http://012.1.2.3/", "http://10.1.2.03/", "http://10.1.515/"),
    *_all("numeric-host", "http://10.66051/", "http://2130706433/", "http://0x7f.1/"),
    *_all("numeric-host", "http://127.1/", "http://0/", "http://0177.0.0.1/", "http://0x/"),
    *_all("numeric-host", "http://10.1.2.3.4/", "http://10.1.2.256/", "http://10.1.2.3./"),
    *_all(
        "numeric-host",
        "http://a.1/",
        "http://10.1.2.3,8.8.8.8/",
        "http://0X0A.0X1.0X2.0X3/",
        "http://99999999999/",
    ),
    # Redfish.
    *_all("redfish", "http://10.1.2.3/redfish", "http://10.1.2.3/redfish/v1/Systems"),
    *_all("redfish", "http://10.1.2.3/redfish?x", "http://10.1.2.3/redfishy"),
    *_all("redfish", "http://10.1.2.3/Redfish/v1", "http://10.1.2.3/REDFISH"),
    *_all("redfish", "http://10.1.2.3//redfish", "http://10.1.2.3/./redfish"),
    *_all("redfish", "http://10.1.2.3/a/../redfish", "http://10.1.2.3/a/b/../../redfish/"),
    *_all("redfish", "http://10.1.2.3/../redfish", "http://10.1.2.3/redfish/../a"),
    *_all("redfish", "http://10.1.2.3/%72edfish", "http://10.1.2.3/redfi%73h"),
    *_all("redfish", "http://10.1.2.3/%2572edfish", "http://10.1.2.3/%25252fredfish"),
    *_all("redfish", "http://10.1.2.3/%2fredfish", "http://10.1.2.3/%5credfish"),
    *_all("redfish", "http://10.1.2.3/%2e/redfish", "http://10.1.2.3/a/%2e%2e/redfish"),
    *_all("redfish", "http://10.1.2.3/a/.%2e/redfish", "http://10.1.2.3/a%2f..%2fredfish"),
    *_all("redfish", "http://10.1.2.3/a/%252e%252e/redfish", "http://10.1.2.3/a%5c..%5credfish"),
    *_all("redfish", "http://10.1.2.3/;/redfish", "http://10.1.2.3/redfish;x=y/v1"),
    *_all("redfish", "http://10.1.2.3/a/..;/redfish", "http://10.1.2.3/;x=y/redfish"),
    *_all("redfish", "http://10.1.2.3/%20redfish", "http://10.1.2.3/.%20/redfish"),
    *_all("redfish", "http://10.1.2.3/%EF%BD%92edfish", "http://10.1.2.3/redfi%C5%BFh"),
    *_all("redfish", "http://10.1.2.3/red%EF%AC%81sh", "http://10.1.2.3/a/..%3b/redfish"),
    *_all("redfish", "http://10.1.2.3/redf%C4%B1sh", "http://10.1.2.3//a/redfish/v1"),
    *_all("redfish", "http://10.1.2.3/%5Ca/redfish", "http://10.1.2.3/%2fa:1%2fredfish"),
    _named("redfish", url="http://switch-1.lab/redfish"),
    # BMCs.
    *_all(
        "bmc",
        "http://10.9.0.5/",
        "http://[::ffff:10.9.0.5]/",
        "http://10.9.0.6/",
        "http://10.9.0.7/",
    ),
    *_all("bmc", "http://[64:ff9b::10.9.0.5]/", "http://[2002:a09:5::1]/"),
    *_all("bmc", "http://10.8.0.1/", "http://10.8.255.255/", "http://[::ffff:10.8.0.1]/"),
    *_all("bmc", "http://[fd00:b::5]/", "http://[64:ff9b::a08:1]/", "http://[2002:a08:1::]/"),
    *_all("bmc", "http://bmc-1.lab/", "http://BMC-1.lab:8443/x"),
    _named("bmc", "10.9.0.5", url="http://bmc-2.lab/"),
    _named("bmc", "10.1.2.3", "10.8.0.9"),
    _named("bmc", "10.1.2.3", "::ffff:10.9.0.6"),
    # Addresses.
    *_all("loopback", "http://127.0.0.1/", "http://127.255.0.9/", "http://[::1]/"),
    *_all("loopback", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
    *_all("loopback", "http://[64:ff9b::127.0.0.1]/", "http://[2002:7f00:1::]/"),
    *_all("link-local", "http://169.254.169.254/", "http://[fe80::1]/", "http://[febf::1]/"),
    *_all("link-local", "http://[::ffff:169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/"),
    *_all("multicast", "http://224.0.0.1/", "http://239.1.1.1/", "http://[ff02::1]/"),
    *_all("multicast", "http://[ff0e::1]/", "http://[::ffff:224.0.0.1]/"),
    *_all("unspecified", "http://0.0.0.0/", "http://[::]/", "http://[::ffff:0.0.0.0]/"),
    *_all("unspecified", "http://[64:ff9b::]/", "http://[2002::1]/"),
    *_all("public", "http://8.8.8.8/", "http://192.0.2.1/", "http://198.18.0.1/"),
    *_all("public", "http://255.255.255.255/", "http://240.0.0.1/", "http://0.0.0.1/"),
    *_all("public", "http://172.32.0.1/", "http://172.15.255.255/", "http://100.128.0.1/"),
    *_all("public", "http://100.63.255.255/", "http://192.167.255.255/", "http://11.0.0.1/"),
    *_all("public", "http://[2001:db8::1]/", "http://[2606:4700::1]/", "http://[fec0::1]/"),
    *_all("public", "http://[::ffff:8.8.8.8]/", "http://[64:ff9b::8.8.8.8]/"),
    *_all("public", "http://[2002:808:808::1]/", "http://[::10.1.2.3]/", "http://[100::1]/"),
    *_all("public", "http://[64:ff9b:1::10.1.2.3]/", "http://[fbff::1]/", "http://[fe00::1]/"),
    # Teredo: the server 65.54.227.120, and the client 10.1.2.3 inverted; then both private.
    *_all("public", "http://[2001:0:4136:e378:8000:63bf:f5fe:fdfc]/"),
    *_all("target", "http://[2001:0:a01:203:8000:63bf:f5fe:fdfc]/"),
    *_all("loopback", "http://[2001:0:a01:203:8000:63bf:80ff:fffe]/"),
    _named("resolved"),
    _named("resolved", "fe80::1%eth0"),
    _named("resolved", "10.1.2.3", "fd00::1%2"),
    _named("resolved", "nonsense"),
    _named("resolved", *(f"10.77.0.{n}" for n in range(1, 66))),
    _named("loopback", "127.0.0.1"),
    _named("loopback", "10.1.2.3", "127.0.0.1"),
    _named("loopback", "10.1.2.3", "::1"),
    _named("link-local", "10.1.2.3", "169.254.169.254"),
    _named("link-local", "10.1.2.3", "fe80::1"),
    _named("public", "10.1.2.3", "8.8.8.8"),
    _named("public", "10.1.2.3", "2606:4700::1"),
    _named("multicast", "10.1.2.3", "ff02::1"),
    _named("unspecified", "0.0.0.0"),
    _named("loopback", "::ffff:127.0.0.1"),
    _named("loopback", "64:ff9b::7f00:1"),
    _named("loopback", "127.0.0.1", url="http://localhost/"),
    _named("loopback", "127.0.0.1", url="http://10.1.2.3.nip.io/"),
)

CASES = (*ALLOWED, *REFUSED)
