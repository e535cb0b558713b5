#!/bin/sh
# Assemble the boot assets out of Debian's packages. Nothing is compiled, nothing is installed.
#
#   build.sh --out DIRECTORY [--suite SUITE] [--secure-boot] [--keep DIRECTORY]
#
# Writes into DIRECTORY the loaders of loaders.toml under our names, ipxe.iso and ipxe.usb (the
# same bytes: BIOS and UEFI, disc and stick), SHA256SUMS and NOTICE. Other files there stay.
#
#   --suite        another suite than the one of loaders.toml; its versions differ, so the digests
#                  are shown and not demanded
#   --secure-boot  Debian's signed shim and GRUB, too
#   --keep         where to work, kept afterwards; otherwise a temporary directory
#
# Needs Debian's package tools, python3 (3.11) and a way to a Debian archive. xorriso and mtools
# are fetched for the occasion where they are not installed. Needs no root.
set -eu
umask 022
LC_ALL=C TZ=UTC
export LC_ALL TZ
# The same input gives the same bytes: no file inside an image is younger than this.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1746144000}
export SOURCE_DATE_EPOCH

fail() {
    echo "build.sh: $*" >&2
    exit 1
}

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
out='' suite='' secure='' work=''
while [ $# -gt 0 ]; do
    case $1 in
    --out | --suite | --keep)
        [ $# -ge 2 ] || usage
        case $1 in --out) out=$2 ;; --suite) suite=$2 ;; --keep) work=$2 ;; esac
        shift
        ;;
    --secure-boot) secure=secure-boot ;;
    *) usage ;;
    esac
    shift
done
[ -n "$out" ] || usage
python3 -c 'import tomllib' 2>/dev/null || fail "this needs python3, 3.11 or newer"

if [ -z "$work" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
fi
mkdir -p "$work" "$out"
work=$(cd "$work" && pwd)
out=$(cd "$out" && pwd)

# manifest QUERY: what loaders.toml says, a line each, fields separated by tabs.
manifest() {
    python3 - "$here/loaders.toml" "$1" $secure <<'P'
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    manifest = tomllib.load(file)
query, sets = sys.argv[2], {"loaders", "image", *sys.argv[3:]}
loaders = [each for each in manifest["loader"] if each["set"] in sets]
packages = {name: manifest["package"][name] for name in (each["package"] for each in loaders)}
if query == "suite":
    print(manifest["suite"])
elif query == "packages":
    for name, package in packages.items():
        print(name, package["version"], sep="\t")
elif query == "files":
    for each in loaders:
        print(each["set"], each["name"], each["sha256"], each["package"], each["file"], sep="\t")
elif query == "notice":
    for name, package in packages.items():
        files = [each["name"] for each in loaders if each["package"] == name]
        print(f"{', '.join(files)}\n  package: {name} {package['version']}")
        print(f"  licence: {package['licence']}\n  source:  {package['source']}\n")
P
}

pinned=$(manifest suite)
suite=${suite:-$pinned}

wanted=$(manifest packages | while IFS="$(printf '\t')" read -r package version; do
    if [ "$suite" = "$pinned" ]; then echo "$package=$version"; else echo "$package"; fi
done)
echo "Fetching from Debian $suite" >&2
rm -rf "$work/packages" "$work/new"
# shellcheck disable=SC2086
"$here/unpack.sh" "$work/packages" "$suite" $wanted
root=$work/packages/root

# Every file is what loaders.toml says it is, or nothing is written.
mkdir -p "$work/new" "$work/parts"
manifest files >"$work/files"
wrong=0
while IFS="$(printf '\t')" read -r set name sha256 package file; do
    if [ ! -f "$root/$file" ]; then
        echo "build.sh: $package of $suite has no $file, which $name is made from" >&2
        wrong=1
        continue
    fi
    found=$(sha256sum <"$root/$file" | cut -d' ' -f1)
    if [ "$found" != "$sha256" ]; then
        if [ "$suite" = "$pinned" ]; then
            echo "build.sh: $name is not the file it should be ($package, $file)" >&2
            echo "    expected sha256 $sha256" >&2
            echo "    found    sha256 $found" >&2
            wrong=1
        else
            echo "$name of $suite: sha256 $found" >&2
        fi
    fi
    case $set in image) into=$work/parts ;; *) into=$work/new ;; esac
    cp "$root/$file" "$into/$name"
done <"$work/files"
[ $wrong = 0 ] || fail "nothing was written to $out"

# The tools that put images together: this machine's, or unpacked beside the packages.
if ! command -v xorriso >/dev/null || ! command -v mformat >/dev/null; then
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    echo "Fetching xorriso and mtools from Debian $codename" >&2
    "$here/unpack.sh" --missing "$work/tools" "$codename" xorriso mtools
    tools=$work/tools/root
    PATH=$tools/usr/bin:$PATH
    for each in "$tools"/usr/lib/*-linux-gnu "$tools"/lib/*-linux-gnu; do
        [ -d "$each" ] && LD_LIBRARY_PATH=$each${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
    export PATH LD_LIBRARY_PATH
fi

# One image for discs and sticks. BIOS: isolinux starts ipxe.lkrn with the script as its initrd.
# UEFI: a FAT file system in it holds iPXE where firmware looks for it, the script beside it.
tree=$work/tree
rm -rf "$tree"
mkdir -p "$tree/isolinux" "$tree/boot"
cp "$work/parts/isolinux.bin" "$work/new/ldlinux.c32" "$tree/isolinux/"
# isolinux takes a name's ending for the kind of file: .krn would do, .lkrn is no known one.
cp "$work/new/ipxe.lkrn" "$tree/boot/ipxe.krn"
cp "$here/embedded.ipxe" "$tree/boot/script.ipxe"
printf '%s\n' 'SERIAL 0 115200' 'DEFAULT ipxe' 'LABEL ipxe' ' KERNEL /boot/ipxe.krn' \
    ' INITRD /boot/script.ipxe' >"$tree/isolinux/isolinux.cfg"
esp=$tree/boot/esp.img
truncate -s 4M "$esp"
staged=$work/esp
rm -rf "$staged"
mkdir -p "$staged/EFI/BOOT"
cp "$work/new/ipxe-x86_64.efi" "$staged/EFI/BOOT/BOOTX64.EFI"
cp "$work/new/ipxe-arm64.efi" "$staged/EFI/BOOT/BOOTAA64.EFI"
cp "$work/new/ipxe-riscv64.efi" "$staged/EFI/BOOT/BOOTRISCV64.EFI"
cp "$here/embedded.ipxe" "$staged/autoexec.ipxe"
cp "$here/embedded.ipxe" "$staged/EFI/BOOT/autoexec.ipxe"
find "$staged" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mformat -i "$esp" -v RESCRIPTUM -N 52534350 ::
mcopy -i "$esp" -s -m -p "$staged/EFI" "$staged/autoexec.ipxe" ::
find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
xorriso -as mkisofs -quiet -r -V RESCRIPTUM -o "$work/new/ipxe.iso" \
    -isohybrid-mbr "$work/parts/isohdpfx.bin" -c isolinux/boot.cat \
    -b isolinux/isolinux.bin -no-emul-boot -boot-load-size 4 -boot-info-table \
    -eltorito-alt-boot -e boot/esp.img -no-emul-boot -isohybrid-gpt-basdat "$tree" \
    >"$work/xorriso.log" 2>&1 || fail "xorriso: $(cat "$work/xorriso.log")"
cp "$work/new/ipxe.iso" "$work/new/ipxe.usb"

{
    echo "These files are other people's work, unchanged, from Debian $suite. ipxe.iso and ipxe.usb"
    echo "hold copies of some of them and the script embedded.ipxe, which is rescriptum's (MIT)."
    echo "The licences are in /usr/share/doc/PACKAGE/copyright of each package. Complete source is"
    echo "to be had from Debian: \`apt-get source PACKAGE=VERSION\` with a deb-src line for $suite."
    echo
    manifest notice
} >"$work/new/NOTICE"

# Each file appears whole or not at all, and SHA256SUMS last.
(cd "$work/new" && sha256sum -- *) >"$work/SHA256SUMS"
for each in "$work/new"/*; do
    name=${each##*/}
    cp "$each" "$out/.$name.new"
    chmod 644 "$out/.$name.new"
    mv "$out/.$name.new" "$out/$name"
done
cp "$work/SHA256SUMS" "$out/.SHA256SUMS.new"
mv "$out/.SHA256SUMS.new" "$out/SHA256SUMS"
(cd "$out" && sha256sum --quiet -c SHA256SUMS)
echo "$(wc -l <"$out/SHA256SUMS") files in $out" >&2
