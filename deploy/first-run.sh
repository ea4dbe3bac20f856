#!/bin/sh
# Writes .env for docker-compose.yml: fresh passwords, readable by you only. An existing .env is left as it is.
# Usage: sh deploy/first-run.sh NAME    NAME is the host name under which the hubs are reached; localhost to try it.
set -eu
name="${1:-localhost}"
target="${ENV_FILE:-$(dirname "$0")/../.env}"
case "$name" in
    *[!A-Za-z0-9.-]* | "" | -*) echo "$name is no host name" >&2; exit 2 ;;
esac
if [ -e "$target" ]; then
    echo "$target is there already and is left as it is" >&2
    exit 1
fi
secret() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
umask 077
printf 'STARLOOM_NAME=%s\nREDIS_PASSWORD=%s\nPOSTGRES_PASSWORD=%s\n' "$name" "$(secret)" "$(secret)" > "$target"
echo "wrote $target"
