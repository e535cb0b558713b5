#!/bin/bash
# Builds the ramdisk: a kernel, an initramfs with Debian, Python and this package, and SHA256SUMS.
# Root, mmdebstrap, zstd and cpio; the archive is the one that apt is configured with.
#   build.sh [--out DIR] [--python INTERPRETER] [--level ZSTD] [--all-modules]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=run/ramdisk level=19 python=python3 modules=
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift 2 ;;
    --level) level=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    --all-modules) modules=all; shift ;;
    *) echo "build.sh: no such option: $1; see its first lines" >&2; exit 2 ;;
  esac
done
[ "$(id -u)" = 0 ] || { echo "build.sh: needs root: it makes a root file system" >&2; exit 1; }
for each in mmdebstrap zstd cpio "$python"; do
  command -v "$each" >/dev/null || { echo "build.sh: $each is missing" >&2; exit 1; }
done
# The same sources make the same files.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 1700000000)}
export LC_ALL=C.UTF-8 TZ=UTC SHELL=/bin/bash PYTHONDONTWRITEBYTECODE=1
suite=bookworm  # its Python is what the wheels below are for
version=3.11
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1)}
packages=linux-image-amd64,python3-minimal,python3,udev,kmod,util-linux,iproute2,busybox-static
packages+=,nvme-cli,hdparm,gdisk,mdadm,lvm2,cryptsetup-bin,e2fsprogs,mtools,dosfstools,xfsprogs
packages+=,kexec-tools,ca-certificates,pciutils,dmidecode,ipmitool,smartmontools

mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d "$out/.build-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
started=$SECONDS

echo "ramdisk: Debian $suite"
mmdebstrap --quiet --variant=minbase --include="$packages" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/i18n/*' \
  --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root" "$mirror"

echo "ramdisk: this package"
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$work/wheel" "$here/.."
"$python" -m pip install -q --disable-pip-version-check --no-compile --target "$root/usr/lib/python3/dist-packages" \
  --only-binary=:all: --implementation cp --python-version "$version" \
  --platform manylinux_2_28_x86_64 --platform manylinux_2_34_x86_64 --platform manylinux2014_x86_64 \
  "$(ls "$work"/wheel/rescriptum-*.whl)[ramdisk]"

cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
echo "ramdisk: without what no agent needs"
sh "$here/prune.sh" "$root" "${modules:-few}"
install -m 0755 "$here/init" "$root/init"
install -m 0755 "$here/udhcpc.sh" "$root/etc/udhcpc.sh"
: >"$root/etc/resolv.conf"
: >"$root/etc/machine-id"
echo ramdisk >"$root/etc/hostname"
mkdir -p "$root/run" "$root/proc" "$root/sys" "$root/dev"

find "$root" -depth -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
(cd "$root" && find . -xdev -print0 | sort -z |
  cpio --quiet --null --create --format=newc --reproducible --owner=0:0) >"$work/initrd.cpio"
zstd -q -T0 -f "-$level" "$work/initrd.cpio" -o "$out/initrd.img"
chmod 0644 "$out/vmlinuz" "$out/initrd.img"
(cd "$out" && sha256sum vmlinuz initrd.img >SHA256SUMS)
echo "ramdisk: vmlinuz $(stat -c %s "$out/vmlinuz") bytes, initrd.img $(stat -c %s "$out/initrd.img") bytes" \
  "($(stat -c %s "$work/initrd.cpio") unpacked), in $((SECONDS - started)) s: $out"
