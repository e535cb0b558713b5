#!/bin/sh
# prune.sh ROOT MODULES [EMULATOR]: takes out of a root file system what nothing of the agent needs.
# MODULES is "all", or "few": disks, network cards, and the file systems that seeds are written to.
# EMULATOR, inside the root, is what runs its programs when this machine cannot.
set -eu
root=$1 modules=$2 emulator=${3-}
cd "$root"
rm -rf boot/* initrd.img* vmlinuz* var/lib/apt var/cache/* var/lib/dpkg var/log/* tmp/*
for each in zoneinfo doc man locale i18n bash-completion pixmaps lintian common-licenses info zsh bug gcc gdb \
  doc-base menu keyrings initramfs-tools dpkg tabset pkgconfig misc polkit-1; do
  rm -rf "usr/share/$each"
done
rm -rf usr/share/perl* usr/bin/perl* usr/lib/*/perl* usr/lib/*/gconv usr/lib/klibc* usr/lib/valgrind \
  usr/lib/linux-image-*
# The result installs no packages.
rm -rf usr/lib/apt usr/lib/dpkg usr/bin/apt* usr/bin/dpkg* usr/bin/gpg* usr/lib/gnupg* usr/lib/systemd/system
rm -rf usr/lib/udev/hwdb.bin usr/lib/udev/hwdb.d
rm -f usr/bin/localedef usr/bin/openssl usr/sbin/smartd usr/sbin/ipmievd usr/sbin/tc usr/bin/rdma usr/sbin/devlink \
  usr/sbin/arpd usr/sbin/ldconfig usr/bin/tar
python=usr/lib/python3.11
for each in test idlelib lib2to3 ensurepip pydoc_data turtledemo tkinter distutils unittest/test venv curses \
  turtle.py; do
  rm -rf "${python:?}/$each"
done
rm -f $python/lib-dynload/_test* $python/lib-dynload/_codecs_[hijkt]* $python/lib-dynload/_curses*
# Of this package's dependencies, those of its other roles.
packages=usr/lib/python3/dist-packages
for each in lxml pygments rich markdown_it mdurl ruamel ruamel_yaml treq multipart packaging pycparser; do
  rm -rf "$packages/$each" "$packages/$each"*.dist-info
done
rm -f $packages/multipart.py
rm -rf $packages/bin $packages/*/test $packages/*/*/tests $packages/twisted/*/test
for each in conch mail words news names pair runner; do rm -rf "$packages/twisted/$each"; done
# Each plugin that is there is loaded at the start.
find $packages/twisted/plugins -name '*.py' ! -name __init__.py ! -name rescriptum_plugin.py \
  ! -name twisted_reactors.py -exec rm {} +
# Where and when it was installed.
rm -f $packages/*.dist-info/RECORD $packages/*.dist-info/INSTALLER $packages/*.dist-info/REQUESTED \
  $packages/*.dist-info/direct_url.json
find . -xdev -name __pycache__ -type d -prune -exec rm -rf {} +
find usr -xdev -type f \( -name '*.a' -o -name '*.la' -o -name '*.pyi' -o -name '*.h' -o -name '*.c' \) \
  -exec rm -f {} +

inside() { chroot "$root" $emulator "$@"; }
release=$(ls usr/lib/modules)
inside /usr/sbin/depmod "$release"
if [ "$modules" = few ]; then
  cd "usr/lib/modules/$release"
  kept='^kernel/(block|crypto|lib)/|^kernel/arch/[^/]*/crypto/'
  kept="$kept"'|^kernel/drivers/(ata|nvme/(common|host)|scsi|virtio|message|firmware|ptp|pps|dca|cdrom|hv|xen)/'
  kept="$kept"'|^kernel/drivers/block/(loop|virtio_blk|xen-blkfront|mtip32xx/)|^kernel/drivers/md/(dm-|md-mod|raid|persistent)'
  kept="$kept"'|^kernel/drivers/md/(linear|multipath)|^kernel/drivers/pci/controller/|^kernel/drivers/char/(hw_random|ipmi)/'
  kept="$kept"'|^kernel/drivers/net/(virtio_net|net_failover|vmxnet3|hyperv|xen-netfront|mdio|phy|bonding)'
  kept="$kept"'|^kernel/drivers/net/ethernet/(amazon|amd|apm|aquantia|atheros|broadcom|cavium|chelsio|cisco|emulex)/'
  kept="$kept"'|^kernel/drivers/net/ethernet/(freescale|google|hisilicon|huawei|intel|marvell|mellanox|microsoft)/'
  kept="$kept"'|^kernel/drivers/net/ethernet/(netronome|pensando|qlogic|realtek|sfc|socionext|stmicro)/'
  kept="$kept"'|^kernel/net/(core|802|8021q|llc|packet)/'
  kept="$kept"'|^kernel/drivers/hid/(hid\.ko|hid-generic|usbhid/)|^kernel/drivers/usb/(host|storage|core|common)/'
  kept="$kept"'|^kernel/drivers/mmc/(core/|host/(sdhci|cqhci))'
  kept="$kept"'|^kernel/fs/(btrfs|ext4|jbd2|mbcache|fat|xfs|isofs|efivarfs)|^kernel/fs/nls/nls_(ascii|cp437|iso8859-1\.|utf8)'
  # Storage networks, and controllers of parallel SCSI.
  dropped='/scsi/(bfa|bnx2|be2iscsi|csiostor|cxgbi|fcoe|fnic|snic|qed|qla4|qla1280|libfc/|.*iscsi|pcmcia)'
  dropped="$dropped"'|/scsi/(aic|sym53|advansys|BusLogic|atp870|dc395|initio|wd719|am53|a100|esp|esas|scsi_debug)'
  dropped="$dropped"'|^kernel/lib/test_|/nvme/host/nvme-(rdma|fc|tcp|fabrics)|/ethernet/chelsio/(cxgb/|cxgb3/|inline|libcxgb)'
  # A module, and what it needs.
  sed 's/://' modules.dep | grep -E "$kept" | awk -v dropped="$dropped" '$1 !~ dropped' | tr ' ' '\n' |
    sort -u >kept
  find kernel -name '*.ko' | grep -vxFf kept | xargs rm -f
  rm kept
  find . -type d -empty -delete
  cd "$root"
fi
# Most of them are never asked for: they stay as small in memory as they are on the way there.
find "usr/lib/modules/$release" -name '*.ko' -print0 | xargs -0 zstd -q -T0 -15 --rm
inside /usr/sbin/depmod "$release"

# Libraries that no program is left for. What is opened by its name alone stays.
libraries=$(echo usr/lib/*-linux-gnu)
loader=$(find lib64/ usr/lib -maxdepth 1 -name 'ld-linux-*' 2>/dev/null | head -1)
find usr/bin usr/sbin usr/lib/udev usr/lib/python3 usr/lib/python3.11 "$libraries"/device-mapper \
  -type f \( -perm /100 -o -name '*.so' -o -name '*.so.*' \) | while read -r each; do
  inside "/$loader" --list "/$each" 2>/dev/null || :
done | sed -n 's/.*=> \(\S*\) .*/\1/p' | sort -u | while read -r each; do
  echo "$each"
  inside /usr/bin/readlink -f "$each"
done | sed 's,^/lib/,/usr/lib/,;s,^/,,' | sort -u >tmp/needed
find "$libraries" -maxdepth 1 -name '*.so*' | grep -vE '/(ld-linux|libnss_|libresolv|libgcc_s)' |
  grep -vxFf tmp/needed | xargs rm -f
rm -rf tmp/needed "$libraries/security" "$libraries/krb5"
