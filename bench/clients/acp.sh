#!/usr/bin/env bash
# Speaks the Agent Client Protocol with one real coding agent, against the scripted model server.
#
#     CLIENTS=FOLDER bench/clients/acp.sh NAME OUT [OPTION OF acp_probe.py...]
#
# OUT gets acp.jsonl, every message of both sides, scrubbed. The exit code is that of acp_probe.py.
set -euo pipefail

name=$1
out=$(mkdir -p "$2" && cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
shift 2
# shellcheck source=operator.sh
. "$here/operator.sh"

[ "${#acp[@]}" -gt 0 ] || { echo "$name does not speak ACP" >&2; exit 64; }
started_ms=$(date +%s%3N)
code=0
alone python3 "$here/acp_probe.py" --workdir "$root/work" --log "$out/acp.raw" "$@" \
    -- "${acp[@]}" 2>"$out/acp.stderr" || code=$?
elapsed_ms=$(($(date +%s%3N) - started_ms))
"$here/scrub.pl" "$root" "$CLIENTS" "$out/acp.raw"
tail -n 3 "$out/acp.stderr" >&2
echo "$name: exit $code, $elapsed_ms ms" >&2
exit "$code"
