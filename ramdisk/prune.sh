#!/bin/sh
# prune.sh ROOT few|all: takes out of a root file system what the ramdisk's agent never needs.
set -eu
root=$1 modules=$2
cd "$root"
rm -rf boot/* initrd.img* vmlinuz* var/lib/apt var/cache var/lib/dpkg var/log/* tmp/*
rm -rf usr/share/zoneinfo usr/share/perl* usr/share/doc usr/share/man usr/share/locale usr/share/i18n
rm -rf usr/share/bash-completion usr/share/pixmaps usr/share/lintian usr/share/common-licenses
# perl, dpkg and apt: the result installs no packages.
rm -rf usr/bin/perl* usr/lib/*/perl* usr/lib/*/libperl* usr/lib/*/gconv usr/lib/*/libapt* usr/lib/*/libdb-*
rm -rf usr/lib/apt usr/lib/dpkg usr/bin/apt* usr/bin/dpkg* usr/bin/gpg* usr/lib/gnupg* usr/lib/systemd/system
rm -rf usr/lib/udev/hwdb.bin usr/lib/udev/hwdb.d
python=usr/lib/python3.11
rm -rf $python/test $python/idlelib $python/lib2to3 $python/ensurepip $python/pydoc_data $python/turtledemo
rm -rf $python/tkinter $python/distutils $python/unittest/test
# Of this package's dependencies, those of its other roles.
packages=usr/lib/python3/dist-packages
for each in lxml pygments rich markdown_it mdurl ruamel ruamel_yaml treq multipart; do
  rm -rf "$packages/$each" "$packages/$each"*.dist-info
done
rm -rf $packages/bin $packages/*/test $packages/twisted/*/test $packages/twisted/conch $packages/twisted/mail
find . -xdev -name __pycache__ -type d -prune -exec rm -rf {} +
find usr -xdev -type f \( -name '*.a' -o -name '*.la' -o -name '*.pyi' \) -exec rm -f {} +

release=$(ls usr/lib/modules)
if [ "$modules" = few ]; then
  cd "usr/lib/modules/$release/kernel"
  kept='^\./(arch|block|crypto|lib)/'
  kept="$kept"'|^\./drivers/(ata|block|nvme|scsi|virtio|md|message|firmware|hwmon|thermal|ptp|pps|dca)/'
  kept="$kept"'|^\./drivers/(char/(hw_random|ipmi)|i2c/algos|net/(virtio_net|net_failover|mdio|phy|bonding))'
  kept="$kept"'|^\./drivers/net/ethernet/(intel|realtek|broadcom|mellanox|amazon|chelsio|emulex|qlogic|solarflare|amd)/'
  kept="$kept"'|^\./drivers/(cdrom|hid|infiniband/core|usb/(host|storage|core|common|net)|mmc)/'
  kept="$kept"'|^\./fs/(btrfs|ext4|jbd2|mbcache|fat|nls|xfs|isofs|efivarfs)|^\./net/(core|802|8021q|llc|packet)'
  find . -name '*.ko' | grep -vE "$kept" | xargs rm -f
  cd "$root"
fi
chroot "$root" depmod "$release"
