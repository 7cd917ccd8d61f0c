#!/bin/sh
# Builds the release file against an old glibc: everything happens in a Debian 11 root (glibc 2.31) made here.
#
#     packaging/oldglibc.sh [OUT]      as root, on Debian or Ubuntu; OUT defaults to dist/
#
# Python comes from Debian 12's source package: Debian 11 has none that is new enough. Python packages come through the
# pip of this machine, in the versions for that Python, so the root needs no package index of its own.
# LEVEL (of zstd, default 19), MIRROR, SECURITY and ROOM (where the root lies, kept for the next build) may be set.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
out=$(mkdir -p "${1:-$here/dist}" && cd "${1:-$here/dist}" && pwd)
mirror=${MIRROR:-http://deb.debian.org/debian}
room=${ROOM:-/var/tmp/flower-bullseye}
python_version=3.11.2
python_sha256=2411c74bda5bbcfcddaf4531f66d1adc73f247f529aee981b029513aefdbf849
wanted="build-essential ca-certificates git libbz2-dev libffi-dev liblzma-dev libncurses-dev libreadline-dev
libsqlite3-dev libssl-dev libzstd-dev patchelf uuid-dev zlib1g-dev"

say() { echo "oldglibc: $*" >&2; }
inside() { chroot "$room" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 "$@"; }

if [ ! -e "$room/.ready" ]; then
    say "a Debian 11 root in $room"
    rm -rf "$room"
    # shellcheck disable=SC2086  # one word each
    mmdebstrap --quiet --mode=root --variant=minbase --include="$(echo $wanted | tr ' ' ,)" bullseye "$room" "$mirror"
    touch "$room/.ready"
fi

if [ ! -x "$room/usr/local/bin/python3" ]; then
    say "CPython $python_version"
    tarball=python3.11_$python_version.orig.tar.gz
    curl -fsS "$mirror/pool/main/p/python3.11/$tarball" -o "$room/$tarball"
    echo "$python_sha256  $room/$tarball" | sha256sum --check --quiet
    inside sh -euc "
        mkdir -p /src && tar -xf /$tarball -C /src --strip-components=1 && cd /src
        ./configure --quiet --enable-shared --without-ensurepip --disable-test-modules LDFLAGS='-Wl,-rpath,/usr/local/lib'
        make -s -j$(nproc) >/dev/null && make -s install >/dev/null && ldconfig"
fi

say "Python packages"
rm -rf "$room/wheels" "$room/flower"
python=${PYTHON:-python3}
for name in $("$python" - "$here/pyproject.toml" <<'EOF'
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
lists = re.findall(r"^(?:dependencies|freeze) = \[\n(.*?)^\]", text, re.M | re.S)
print(" ".join(re.findall(r'^\s+"([^";]+)"', "".join(lists), re.M)), "pip", "tomli")
EOF
); do echo "$name"; done > "$room/wanted.txt"
machine=$(uname -m)
"$python" -m pip download --quiet --dest "$room/wheels" --only-binary :all: --python-version 3.11 --implementation cp \
    --platform "manylinux_2_31_$machine" --platform "manylinux_2_28_$machine" --platform "manylinux_2_17_$machine" \
    --platform "manylinux2014_$machine" --requirement "$room/wanted.txt"
pip=$(basename "$(ls "$room"/wheels/pip-*.whl)")
inside python3 "/wheels/$pip/pip" install --quiet --no-index --find-links /wheels --root-user-action=ignore \
    --requirement /wanted.txt

say "the build"
mkdir "$room/flower"
(cd "$here" && tar -c --exclude=__pycache__ flower packaging pyproject.toml hatch_build.py) | tar -x -C "$room/flower"
epoch=$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 1700000000)
inside env SOURCE_DATE_EPOCH="$epoch" python3 /flower/packaging/build.py --out /flower/dist --level "${LEVEL:-19}"
cp "$room"/flower/dist/flower-* "$room/flower/dist/SHA256SUMS" "$out/"
rm -rf "$out/flower" && cp -a "$room/flower/dist/flower" "$out/"
cat "$out/flower/_internal/flower/build.json" >&2
say "proof: it runs in that root, whose glibc is $(inside ldd --version | sed -n '1s/.* //p')"
inside "/flower/dist/$(basename "$out"/flower-*-linux-*)" --version -v >&2
