#!/usr/bin/env bash
#  both commands from a clean clone in an empty Debian 12 root (needs root and debootstrap; takes a while)
#
#  The root is made by debootstrap from the mirror that this machine's apt uses, with apt's settings; nothing but git and
#  bash is in it beside the base. Prints what each command took. Options: --keep leaves the root.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

keep=0
[ "${1:-}" = --keep ] && keep=1
[ "$(id -u)" = 0 ] || { echo "debootstrap: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap </dev/null

mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
    sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *([^ ]*\/debian)\/?( .*)?$/\3/p' | head -n 1)
[ -n "$mirror" ] || { echo "debootstrap: apt on this machine names no mirror of Debian" >&2; exit 1; }

root=$(mktemp -d "${TMPDIR:-/var/tmp}/argos-root.XXXXXX")
leave () {
    umount -q -R "$root" 2>/dev/null || umount -q -R -l "$root" 2>/dev/null || true
    [ $keep = 1 ] && echo "the root is $root" || rm -rf --one-file-system "$root"
}
trap leave EXIT

echo "== an empty root"
debootstrap --variant=minbase --include=git,ca-certificates bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
    { tail -n 20 "$root.log" >&2; exit 1; }
rm -f "$root.log"
rm -rf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d
cp -r /etc/apt/sources.list* /etc/apt/apt.conf.d "$root/etc/apt/" 2>/dev/null || true
mkdir -p "$root/usr/share/keyrings"
cp -n /usr/share/keyrings/debian-archive* "$root/usr/share/keyrings/" 2>/dev/null || true
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
mount --bind "$root" "$root" #  A root that is no mount can't have network namespaces
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount --bind /dev/pts "$root/dev/pts" #  Terminals for the tests of the chat
mount -t tmpfs -o size=1g tmpfs "$root/dev/shm" 2>/dev/null || true

git clone -q --no-hardlinks . "$root/argos"
inside () { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$root" /bin/bash -c "$1" </dev/null; }

failed=0
echo "== ./dev run, argos setup --non-interactive, and a first answer"
start=$(date +%s)
inside 'cd /argos; ./dev run --home /root/home >/tmp/run.log 2>&1 & pid=$!
    timeout 1200 tail -n +1 -F --pid=$pid /tmp/run.log 2>/dev/null | grep -q -m 1 "event=ready" || true
    grep -q "event=ready" /tmp/run.log || { tail -n 30 /tmp/run.log; kill $pid; exit 1; }
    build/argos --home /root/home setup --non-interactive
    timeout 20 build/argos --home /root/home run hello | tee /tmp/first.log
    grep -qx "You said: hello" /tmp/first.log || { kill $pid; exit 1; }
    kill -TERM $(sed -n "s/^\([0-9]*\).*/\1/p" /root/home/run/argosd.lock)
    wait $pid' || failed=1
echo "from ./dev run to the first answer it took $(($(date +%s) - start)) s, packages and build included"

echo "== ./dev test"
start=$(date +%s)
inside 'cd /argos && ./dev test >/tmp/test.log 2>&1; code=$?; grep -E "^== |^[0-9]+ passed" /tmp/test.log; exit $code' || failed=1
[ $failed = 0 ] || tail -n 60 "$root/tmp/test.log" 2>/dev/null || true
echo "./dev test took $(($(date +%s) - start)) s, packages and build included"
start=$(date +%s)
inside 'cd /argos && ./dev build' >/dev/null 2>&1 || failed=1
echo "./dev build again took $(($(date +%s) - start)) s"
exit $failed
