#!/usr/bin/env bash
# Finds a Chromium for the browser tests and prints its path on the last line, or nothing where Playwright's own is installed.
# Order: $CHROMIUM, an installed browser, the system's package, Playwright's download.
set -eu

say() { printf '%s\n' "blockviz: $*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

works() { [ -n "${1:-}" ] && command -v "$1" >/dev/null && "$1" --version >/dev/null 2>&1; }

find_browser() {
    local candidate
    for candidate in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        if works "$candidate"; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

playwright_has_one() {
    .venv/bin/python - <<'PYTHON' 2>/dev/null
import os
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    raise SystemExit(not os.path.exists(playwright.chromium.executable_path))
PYTHON
}

find_browser && exit 0
playwright_has_one && exit 0

# Ubuntu's package of that name is only a pointer to a snap, which does not run in containers or headless sessions.
if command -v apt-get >/dev/null && as_root true && ! grep -qi '^ID=ubuntu' /etc/os-release 2>/dev/null; then
    say "installing chromium with apt-get"
    as_root apt-get update -qq >/dev/null 2>&1 || true
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null 2>&1 || true
    find_browser && exit 0
fi

say "installing Chromium with Playwright"
if as_root true; then
    .venv/bin/python -m playwright install --with-deps chromium >&2 && exit 0
else
    .venv/bin/python -m playwright install chromium >&2 && exit 0
fi
say "found no Chromium for the browser tests and could not install one: run 'sudo apt-get install chromium', or name one with 'make test CHROMIUM=/path/to/chrome'."
exit 2
