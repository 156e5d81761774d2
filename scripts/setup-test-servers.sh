#!/usr/bin/env bash
# Installs the mock model servers that the tests of the model clients run against, once, below target/test-servers,
# and prints the variables by which the tests find them:
#
#   eval "$(scripts/setup-test-servers.sh)"
#   cargo test -p hpd-agent-provider-tests --features servers
#
# Needs Python 3.10 or newer, Node.js 20 or newer, and access to PyPI and npm for the first run.
set -euo pipefail

llmock_version=0.2.2
aimock_version=1.43

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
servers="${HPD_TEST_SERVERS:-$root/target/test-servers}"
mkdir -p "$servers"

# A folder counts as installed when its stamp names the version: a run that was stopped halfway is done again.
llmock="$servers/llmock-$llmock_version"
if [[ ! -f "$llmock/.installed" ]]; then
    rm -rf "$llmock"
    python3 -m venv "$llmock" >&2
    "$llmock/bin/pip" install --quiet --disable-pip-version-check "llmock==$llmock_version" >&2
    touch "$llmock/.installed"
fi

aimock="$servers/aimock-$aimock_version"
if [[ ! -f "$aimock/.installed" ]]; then
    rm -rf "$aimock"
    mkdir -p "$aimock"
    echo '{"private": true}' > "$aimock/package.json"
    (cd "$aimock" && npm install --silent --no-audit --no-fund --ignore-scripts "@copilotkit/aimock@~$aimock_version" >&2)
    touch "$aimock/.installed"
fi

echo "export HPD_LLMOCK=$llmock/bin/llmock"
echo "export HPD_AIMOCK=$aimock/node_modules/.bin/llmock"
