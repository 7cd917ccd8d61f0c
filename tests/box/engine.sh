#!/bin/bash
# An engine of our own for the tests, where none is running: Debian's docker.io, as root, without a registry.
#
#   eval "$(tests/box/engine.sh)"       starts it (half a minute the first time) and says DOCKER_HOST
#   tests/box/engine.sh stop            ends it; images and volumes stay for the next time
#
# Base images are made with mmdebstrap and imported under the name the Dockerfile gives them. There is no bridge and no
# rule is written to the firewall: containers get the host's network or none.
set -euo pipefail

state=${FLOWER_BOX_ENGINE:-/var/tmp/flower-box-engine}
socket=unix://$state/docker.sock
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive

answers() {
    curl -fs --max-time 2 --unix-socket "$state/docker.sock" http://engine/_ping >/dev/null 2>&1
}

# Only what was started with our directory: a pid file may be older than the process that has its number.
ours() {
    local pid
    pid=$(cat "$1" 2>/dev/null) && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$state/" && echo "$pid"
}

end() { # $1: a signal
    local file pid
    for file in "$state/dockerd.pid" "$state/exec/containerd/containerd.pid"; do
        if pid=$(ours "$file"); then
            kill "-$1" "$pid" || true
            for _ in $(seq 100); do [[ -d /proc/$pid ]] || break; sleep .1; done
        fi
    done
}

# A killed engine leaves pid files and mounts, at which the next one waits until it gives up.
clear_away() {
    end KILL
    awk -v below="$state/exec/" 'index($2, below) == 1 { print $2 }' /proc/mounts | xargs -r umount -l
    rm -rf "$state/exec" "$state/dockerd.pid" "$state/docker.sock"
}

install_missing() {
    local missing=()
    command -v dockerd >/dev/null || missing+=(docker.io)
    command -v iptables >/dev/null || missing+=(iptables)
    command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
    command -v curl >/dev/null || missing+=(curl)
    ((${#missing[@]})) || return 0
    { apt-get update -q && apt-get install -y -q -o Acquire::Retries=5 --no-install-recommends "${missing[@]}"; } >"$state/apt.log" 2>&1
}

start() {
    clear_away
    env -i PATH="$PATH" HOME="$state" setsid dockerd --data-root "$state/data" --exec-root "$state/exec" \
        --pidfile "$state/dockerd.pid" --host "$socket" --storage-driver overlay2 \
        --bridge=none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
        >"$state/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 300); do answers && return; sleep .1; done
    tail -n 20 "$state/dockerd.log" >&2
    exit 1
}

base_image() { # $1: a suite of Debian's
    local name=debian:$1-slim sources=/etc/apt/sources.list.d/debian.sources options=() left
    ! docker image inspect "$name" >/dev/null 2>&1 || return 0
    [[ -e $sources ]] || sources=/etc/apt/sources.list
    for place in doc man locale info; do options+=("--dpkgopt=path-exclude=/usr/share/$place/*"); done
    options+=("--aptopt=Acquire::Retries 5")
    # A mirror may be away for a moment.
    for left in 2 1 0; do
        env -i PATH="$PATH" HOME="$state" mmdebstrap --variant=minbase --quiet "${options[@]}" "$1" "$state/base.tar" "$sources" &&
            break
        ((left)) || exit 1
    done
    docker import --change 'CMD ["bash"]' "$state/base.tar" "$name" >/dev/null
    rm -f "$state/base.tar"
}

[[ ${1-} != stop ]] || { end TERM; clear_away; exit; }
mkdir -p "$state"
exec 9>"$state/lock"
flock 9
export DOCKER_HOST=$socket
install_missing
answers || start 9>&-
base_image bookworm
echo "export DOCKER_HOST=$socket"
