#!/usr/bin/env bash
# Runs one real coding agent over the Agent Client Protocol below Probity, against the scripted model
# server: it lies once, is told so in the same session, writes the file, and is verified.
#
#     PROBITY=target/debug/probity CLIENTS=FOLDER bench/clients/acp_run.sh NAME OUT
#
# OUT gets every message of both sides, what the server saw, the log and the report of the run, raw
# and scrubbed. The exit code is that of Probity. `chat` as NAME asks the server itself, with a tool
# that is a script.
set -euo pipefail

name=$1
out=$(mkdir -p "$2" && cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
: "${PROBITY:?the built program}"
# shellcheck source=operator.sh
. "$here/operator.sh"

if [ "$name" = chat ]; then
    sed "s|@URL@|$url|" "$here/chat.yaml" >"$root/request.yaml"
else
    [ "${#acp[@]}" -gt 0 ] || { echo "$name does not speak ACP" >&2; exit 64; }
    # Both directions pass through `tee`; the agent is whatever it was.
    cat >"$root/bin/agent" <<AGENT
#!/usr/bin/env bash
tee "$out/from-client.raw" | $(printf '%q ' "${acp[@]}") 2>"$out/agent.stderr" | tee "$out/from-agent.raw"
exit "\${PIPESTATUS[1]}"
AGENT
    chmod +x "$root/bin/agent"
    cp "$here/acp.yaml" "$root/request.yaml"
fi

cd "$root/work"
store=sqlite:$root/store.db
started_ms=$(date +%s%3N)
code=0
alone "$PROBITY" run --request "$root/request.yaml" --id run-1 --store "$store" --json \
    >"$out/report.raw" || code=$?
elapsed_ms=$(($(date +%s%3N) - started_ms))
alone "$PROBITY" log show run-1 --store "$store" >"$out/log.raw" || true
echo "$name: exit $code, $elapsed_ms ms" >&2
"$here/scrub.pl" "$root" "$CLIENTS" "$out"/*.raw
[ "$name" = chat ] || python3 "$here/shorten.py" "$out"/from-{client,agent}.jsonl
mv "$out/log.jsonl" "$out/log.txt"
python3 -m json.tool --indent 2 --no-ensure-ascii "$out/report.jsonl" "$out/report.json"
exit "$code"
