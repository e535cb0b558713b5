#!/bin/bash
# Builds the ramdisk: a kernel, an initramfs with Debian, Python and this package, and SHA256SUMS.
#   build.sh [--out DIR] [--arch amd64|arm64] [--python INTERPRETER] [--level ZSTD]
#            [--all-modules] [--include PACKAGE,...]
# Root; mmdebstrap, zstd and cpio. The archive is the one that apt is configured with, or MIRROR: a
# URL or a line of sources.list. No package's own scripts are run, so that what comes out depends on
# nothing but what goes in, and another architecture needs only qemu-user-static.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=run/ramdisk level=19 python=python3 modules=few extra= native=$(dpkg --print-architecture)
arch=$native
while [ $# -gt 0 ]; do
  case $1 in
    --all-modules) modules=all; shift; continue ;;
    --out | --arch | --python | --level | --include)
      [ $# -gt 1 ] || { echo "build.sh: $1 wants a value" >&2; exit 2; } ;;
  esac
  case $1 in
    --out) out=$2 ;;
    --arch) arch=$2 ;;
    --python) python=$2 ;;
    --level) level=$2 ;;
    --include) extra=,$2 ;;
    *) echo "build.sh: no such option: $1; see its first lines" >&2; exit 2 ;;
  esac
  shift 2
done
case $arch in
  amd64) machine=x86_64 ;;
  arm64) machine=aarch64 ;;
  *) echo "build.sh: --arch $arch: want amd64 or arm64" >&2; exit 2 ;;
esac
emulator=
[ "$arch" = "$native" ] || emulator=qemu-$machine-static
[ "$(id -u)" = 0 ] || { echo "build.sh: needs root: it makes a root file system" >&2; exit 1; }
for each in mmdebstrap zstd cpio "$python" $emulator; do
  command -v "$each" >/dev/null || { echo "build.sh: $each is missing" >&2; exit 1; }
done
# The same sources make the same files.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 1700000000)}
export LC_ALL=C.UTF-8 TZ=UTC SHELL=/bin/bash PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
umask 022
suite=bookworm  # its Python is what the wheels below are for
version=3.11
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1)}
packages=base-files,base-passwd,libc-bin,dash,bash,coreutils,sed,grep,mount,util-linux,udev,kmod
packages+=,linux-image-$arch,python3-minimal,python3,iproute2,busybox-static,ca-certificates
packages+=,nvme-cli,hdparm,smartmontools,gdisk,mdadm,lvm2,cryptsetup-bin,e2fsprogs,mtools
packages+=,kexec-tools,pciutils,dmidecode,ipmitool
# What the agent and init call: each is run once where it will be.
programs="nvme hdparm smartctl sgdisk mdadm lvm dmsetup cryptsetup lsblk blkid blockdev blkdiscard wipefs"
programs+=" debugfs mcopy mmd mdir mount umount swapoff kexec dmidecode lspci ipmitool udevadm ip kmod"
programs+=" sh cat cut sleep ln mkdir touch losetup python3"

mkdir -p "$out"
out=$(realpath "$out")
work=$(mktemp -d "$out/.build-XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root
started=$SECONDS

echo "ramdisk: Debian $suite, $arch"
mmdebstrap --quiet --variant=extract --architectures="$arch" --include="$packages$extra" \
  --setup-hook='for each in bin sbin lib; do mkdir -p "$1/usr/$each"; ln -s "usr/$each" "$1/$each"; done' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/i18n/*' \
  --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root" "$mirror"
[ -z "$emulator" ] || cp "$(command -v "$emulator")" "$root/emulator"
inside() { chroot "$root" ${emulator:+/emulator} "$@"; }

echo "ramdisk: this package"
mkdir "$work/source"
(cd "$here/.." && cp -R pyproject.toml setup.cfg README.md LICENSE rescriptum twisted "$work/source")
find "$work/source" -name __pycache__ -prune -exec rm -rf {} +
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$work/wheel" "$work/source"
"$python" -m pip install -q --disable-pip-version-check --no-compile --target "$root/usr/lib/python3/dist-packages" \
  --only-binary=:all: --implementation cp --python-version "$version" \
  --platform "manylinux_2_28_$machine" --platform "manylinux_2_34_$machine" --platform "manylinux2014_$machine" \
  "$(ls "$work"/wheel/rescriptum-*.whl)[ramdisk]"

# What the scripts of packages would have made.
cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
printf '%s\n' input:x:101: sgx:x:102: kvm:x:103: render:x:104: >>"$root/etc/group"
printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' >"$root/etc/nsswitch.conf"
find "$root/usr/share/ca-certificates/mozilla" -name '*.crt' | sort | xargs cat \
  >"$root/etc/ssl/certs/ca-certificates.crt"
: >"$root/etc/resolv.conf"
: >"$root/etc/machine-id"
echo ramdisk >"$root/etc/hostname"
printf '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 ramdisk\n' >"$root/etc/hosts"
ln -sfn /proc/self/mounts "$root/etc/mtab"
mkdir -p "$root/run" "$root/proc" "$root/sys" "$root/dev"
ln -sfn /run "$root/var/run"
install -m 0755 "$here/init" "$root/init"
install -m 0755 "$here/udhcpc.sh" "$root/etc/udhcpc.sh"

cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
echo "ramdisk: without what no agent needs"
sh "$here/prune.sh" "$root" "$modules" ${emulator:+/emulator}
install -m 0644 "$here/precompile.py" "$root/precompile.py"
inside /usr/bin/python3 -B /precompile.py
rm "$root/precompile.py"
for each in $programs; do
  path=$(cd "$root" && find usr/sbin usr/bin -name "$each" | head -1)
  code=0
  inside "/${path:-usr/bin/$each}" --version >"$work/said" 2>&1 </dev/null || code=$?
  # Not every one knows --version; none may be missing, lack a library or be killed.
  if [[ $code = 12[67] || $code = 13? ]] || grep -q 'shared librar' "$work/said"; then
    echo "build.sh: $each does not run in the ramdisk ($code): $(head -c 500 "$work/said")" >&2
    exit 1
  fi
done
rm -f "$root/emulator"

find "$root" -depth -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
(cd "$root" && find . -xdev -print0 | sort -z |
  cpio --quiet --null --create --format=newc --reproducible --owner=0:0) >"$work/initrd.cpio"
zstd -q -T0 -f "-$level" "$work/initrd.cpio" -o "$out/initrd.img"
chmod 0644 "$out/vmlinuz" "$out/initrd.img"
(cd "$out" && sha256sum vmlinuz initrd.img >SHA256SUMS)
echo "ramdisk: vmlinuz $(stat -c %s "$out/vmlinuz") bytes, initrd.img $(stat -c %s "$out/initrd.img") bytes" \
  "($(stat -c %s "$work/initrd.cpio") unpacked), in $((SECONDS - started)) s: $out"
