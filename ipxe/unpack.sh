#!/bin/sh
# Unpack Debian packages without installing them.
#
#   unpack.sh DIRECTORY SUITE PACKAGE[:ARCH][=VERSION]...
#   unpack.sh --missing DIRECTORY SUITE PACKAGE...    also what they need and this machine lacks
#
# The files end up below DIRECTORY/root. apt runs on a configuration of its own below
# DIRECTORY/apt: this machine's lists, pins, architectures and packages stay as they are, only
# where its archive is (and how to reach it) is taken from them. Needs no root.
set -eu
umask 022

missing=no
if [ "${1-}" = --missing ]; then
    missing=yes
    shift
fi
[ $# -ge 3 ] || {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
mkdir -p "$1"
directory=$(cd "$1" && pwd)
suite=$2
shift 2

fail() {
    echo "unpack.sh: $*" >&2
    exit 1
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for tool in apt-get dpkg-deb; do
    command -v $tool >/dev/null || fail "$tool is not here: this needs Debian's package tools"
done
[ -r $keyring ] || fail "$keyring is not here: install debian-archive-keyring"

here=$(dpkg --print-architecture)
architectures=$(printf '%s\n' "$here" "$@" | sed -n 's/=.*//; 1p; s/^[^:]*://p' | sort -u)

# Where this machine gets Debian from: every archive that its sources name, the one with this
# machine's own release first. One that does not verify with Debian's keys is passed over.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
archives() {
    apt-get --print-uris update 2>/dev/null |
        sed -n "s|^'\\(.*\\)/dists/\\([^/']*\\)/InRelease'.*|\\2 \\1|p" |
        sort -u | sort -s -k1,1r | awk -v mine="$codename" '
            $1 == mine { print $2; next } { rest[n++] = $2 }
            END { for (i = 0; i < n; i++) print rest[i] }' | awk '!seen[$0]++'
}

apt=$directory/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$apt/empty"
: >"$apt/status"
{
    echo "Dir::State \"$apt\"; Dir::State::lists \"$apt/lists\"; Dir::State::status \"$apt/status\";"
    echo "Dir::Cache \"$apt/cache\"; Dir::Etc::sourcelist \"$apt/sources.list\";"
    echo "Dir::Etc::sourceparts \"$apt/empty\"; Dir::Etc::preferencesparts \"$apt/empty\";"
    echo "Dir::Etc::preferences \"$apt/none\"; Debug::NoLocking \"true\"; Acquire::Retries \"3\";"
    echo 'Acquire::Languages "none"; APT::Sandbox::User ""; Acquire::http::Timeout "60";'
    echo "APT::Architecture \"$here\"; APT::Architectures {"
    for each in $architectures; do echo " \"$each\";"; done
    echo '};'
} >"$apt/apt.conf"

found=
tried=
for archive in $(archives); do
    echo "deb [signed-by=$keyring] $archive $suite main" >"$apt/sources.list"
    if APT_CONFIG=$apt/apt.conf apt-get -qq -o APT::Update::Error-Mode=any update \
        >"$apt/update.log" 2>&1; then
        found=$archive
        break
    fi
    tried="$tried
$(sed 's/^/    /' "$apt/update.log")"
done
[ -n "$found" ] || fail "none of the archives that apt is configured with has Debian $suite:$tried"
export APT_CONFIG="$apt/apt.conf"

if [ $missing = yes ]; then
    wanted=$(apt-get -o Dir::State::status=/var/lib/dpkg/status --print-uris -qq -y \
        --no-install-recommends install "$@" | sed -n "s/^'[^']*' \\([^_]*\\)_.*/\\1/p")
    # shellcheck disable=SC2086
    set -- $wanted
fi
for each in "$@"; do
    (cd "$apt/debs" && apt-get -qq download "$each") ||
        fail "Debian $suite has no $each; it has: $(apt-cache policy "${each%%=*}" |
            sed -n 's/^  Candidate: //p')"
done
mkdir -p "$directory/root"
for each in "$apt"/debs/*.deb; do
    dpkg-deb -x "$each" "$directory/root"
done
