#!/bin/sh
# Writes the host-free, hashed locks from uv.lock (which names registries and is therefore not committed).
# Usage: UV=/path/to/uv sh scripts/locks.sh
set -eu
cd "$(dirname "$0")/.."
uv="${UV:-uv}"
"$uv" lock -q
"$uv" export -q --no-header --all-packages --no-emit-workspace --no-default-groups --group build -o requirements.lock
"$uv" export -q --no-header --all-packages --no-emit-workspace --all-groups -o requirements-dev.lock
"$uv" export -q --no-header --no-annotate --package starloom-agent --extra pictures --no-emit-workspace --no-default-groups \
    -o device_agents/requirements.lock
if grep -nE '://' requirements*.lock device_agents/requirements.lock; then
    echo "a lock names a registry's address" >&2
    exit 1
fi
