"""
What cloud-init reads: user-data and the other files of a NoCloud seed.

Facts: cloud-init's reference of user-data formats and modules
(``cloudinit/config/schemas/schema-cloud-config-v1.json``, ``cloudinit/user_data.py``). cloud-init
warns of keys that it does not know, and goes on.
"""

from collections.abc import Iterator, Mapping

from . import autoinstall
from .finding import Checked, Finding, problem, warning
from .shape import (
    Shape,
    anything,
    by_kind,
    flag,
    listed,
    perhaps,
    shown,
    table,
    text,
    whole,
    words,
)
from .yaml_ import read

_HEADER = "#cloud-config"
_JINJA = "## template: jinja"
#: What else cloud-init takes user-data for, by how it begins; nothing of it is looked at here.
_OTHERS = words(
    "#! #include #cloud-boothook #cloud-config-archive #part-handler #upstart-job Content-Type: "
    "MIME-Version:"
)

_COMMANDS = listed(by_kind(text=text, list=listed(by_kind(text=text, number=anything))))
_TEXTS = listed(text)
_KNOWN: dict[str, Shape] = {
    **dict.fromkeys(
        words(
            "allow_public_ssh_keys ansible apk_repos apt apt_pipelining apt_reboot_if_required "
            "apt_update apt_upgrade authkey_hash byobu_by_default ca-certs ca_certs chef chpasswd "
            "cloud_config_modules cloud_final_modules cloud_init_modules datasource "
            "datasource_list device_aliases disable_ec2_metadata disable_root_opts disk_setup "
            "drivers fan final_message fs_setup groups growpart grub-dpkg grub_dpkg keyboard "
            "landscape locale locale_configfile lxd manage_etc_hosts manage_resolv_conf "
            "mcollective merge_how merge_type migrate mount_default_fields mounts ntp output "
            "package_reboot_if_required password phone_home power_state puppet random_seed "
            "rh_subscription reporting resize_rootfs resolv_conf rsyslog runcmd_env salt_minion "
            "snap spacewalk ssh ssh_fp_console_blacklist ssh_genkeytypes ssh_key_console_blacklist "
            "ssh_keys ssh_publish_hostkeys ssh_pwauth swap system_info ubuntu_advantage ubuntu_pro "
            "updates user vendor_data wireguard write_files_deferred yum_repo_dir yum_repos zypper"
        ),
        anything,
    ),
    **dict.fromkeys(words("hostname fqdn timezone"), text),
    **dict.fromkeys(
        words(
            "create_hostname_file disable_root no_ssh_fingerprints package_update package_upgrade "
            "prefer_fqdn_over_hostname preserve_hostname ssh_deletekeys ssh_quiet_keygen"
        ),
        by_kind(false=flag, text=anything),
    ),
    **dict.fromkeys(words("bootcmd runcmd"), _COMMANDS),
    **dict.fromkeys(
        words("ssh_authorized_keys ssh_import_id"), by_kind(list=_TEXTS, text=anything)
    ),
    "packages": listed(by_kind(text=text, list=anything, table=anything)),
    "users": by_kind(list=anything, text=anything, table=anything),
    "write_files": listed(
        table(
            {
                **dict.fromkeys(words("path owner encoding"), text),
                "content": by_kind(text=text, data=anything),
                "permissions": by_kind(text=text, number=anything),
                "append": flag,
                "defer": flag,
                "source": anything,
            },
            ["path"],
        )
    ),
    "autoinstall": anything,
}
_CONFIG = table(_KNOWN, similar=True)
_META_DATA = table(
    {
        "instance-id": by_kind(text=text, number=whole),
        "local-hostname": text,
        "hostname": text,
        "public-keys": anything,
        "network-interfaces": text,
        "network": anything,
        "cloud-name": anything,
        "dsmode": anything,
    },
    similar=True,
)
_NETWORK = by_kind(table=anything)


def check(data: bytes) -> Checked:
    """
    The user-data of a seed: a cloud-config, perhaps with an ``autoinstall``. YAML without a key
    that cloud-init knows is for somebody else.
    """
    header = _header(data)
    if header.startswith(_OTHERS):
        return Checked("")
    if not data.strip():
        return Checked("cloud-config, empty")
    try:
        document = read(data)
    except ValueError as e:
        return Checked.of("YAML", [problem(f"not YAML: {e}")])
    headed = header.lower().startswith(_HEADER)
    if headed and document is None:
        return Checked("cloud-config, empty")
    if not isinstance(document, Mapping):
        wrong = [problem(f"want a table of keys, not {shown(document)}")]
        return Checked.of("cloud-config", wrong) if headed else Checked("")
    if headed or "autoinstall" in document or all(key in _KNOWN for key in document):
        kind = "Ubuntu autoinstall" if "autoinstall" in document else "cloud-config"
        return Checked.of(kind, _findings(document, headed))
    return Checked("")


def _header(data: bytes) -> str:
    """:returns: the line that says what the rest is."""
    lines = data.lstrip()[:200].decode("utf-8", "replace").split("\n")
    if lines[0].lower().startswith(_JINJA) and len(lines) > 1:
        return lines[1]
    return lines[0].strip()


def _findings(document: Mapping[object, object], headed: bool) -> Iterator[Finding]:
    if not headed:
        said = f"want {_HEADER} for the first line: cloud-init ignores it without"
        yield problem(said, line=1) if "autoinstall" in document else warning(said, line=1)
    yield from _CONFIG(document, "")
    if "autoinstall" in document:
        yield from autoinstall.findings(document["autoinstall"])
    elif "version" in document and ("identity" in document or "storage" in document):
        said = "these are keys of an autoinstall: put them below autoinstall:"
        yield problem(said, "version")


def check_meta_data(data: bytes) -> Checked:
    """A table, or nothing."""
    return _part(data, "NoCloud meta-data", perhaps(_META_DATA))


def check_vendor_data(data: bytes) -> Checked:
    """As user-data, or nothing."""
    return check(data) if data.strip() else Checked("NoCloud vendor-data, empty")


def check_network_config(data: bytes) -> Checked:
    """Version 1 or 2, or nothing."""
    return _part(data, "NoCloud network-config", _network)


def _network(value: object, at: str) -> Iterator[Finding]:
    if value is None:
        return
    if isinstance(value, Mapping) and isinstance(value.get("network"), Mapping):
        value, at = value["network"], "network"
    yield from _NETWORK(value, at)
    if isinstance(value, Mapping):
        version = value.get("version")
        if version not in (1, 2):
            said = f"want version 1 or 2, not {shown(version)}"
            yield problem(said if version is not None else "version is missing: 1 or 2", at)
        elif version == 1 and not isinstance(value.get("config"), list):
            yield problem("version 1 wants a list, config", at)


def _part(data: bytes, kind: str, shape: Shape) -> Checked:
    try:
        return Checked.of(kind, shape(read(data), ""))
    except ValueError as e:
        return Checked.of(kind, [problem(f"not YAML: {e}")])
