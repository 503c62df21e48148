#!/usr/bin/env bash
# Makes .venv with a Python of 3.11 or newer, or says in one sentence what is missing.
set -eu

MINIMUM="3.11"

say() { printf '%s\n' "blockviz: $*" >&2; }

# Runs a command as root where that is possible without asking for a password.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

apt_install() {
    command -v apt-get >/dev/null || return 1
    as_root true || return 1
    say "installing $* with apt-get"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null 2>&1 && return 0
    as_root apt-get update -qq >/dev/null 2>&1 || true
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null 2>&1
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null && is_new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# An environment whose interpreter is gone (a moved folder, an upgraded system) is of no use.
if [ -x .venv/bin/python ] && is_new_enough .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    exit 0
fi

python="$(find_python)" || {
    apt_install python3 python3-venv && python="$(find_python)" ||
        { apt_install python3.12 python3.12-venv && python="$(find_python)"; } ||
        { apt_install python3.11 python3.11-venv && python="$(find_python)"; } ||
        { say "needs Python $MINIMUM or newer and found none: install it, or name it with 'make run PYTHON=/path/to/python3'."; exit 2; }
}

if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
    apt_install "python$version-venv" || apt_install python3-venv || true
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || {
        say "$python cannot make virtual environments: run 'sudo apt-get install python$version-venv' and try again."
        exit 2
    }
fi

say "making .venv with $("$python" --version)"
rm -rf .venv
"$python" -m venv .venv
