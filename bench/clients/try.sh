#!/usr/bin/env bash
# Runs one real coding agent below Probity against the scripted model server: it lies once, is told
# so in the same session, writes the file, and is verified.
#
#     PROBITY=target/debug/probity CLIENTS=FOLDER bench/clients/try.sh NAME OUT
#
# CLIENTS holds the agents; docs/clients.md says how each was installed there. OUT gets the output of
# each attempt, what the server saw, and the report of the run, raw and scrubbed. The exit code is
# that of Probity.
set -euo pipefail

name=$1
out=$(mkdir -p "$2" && cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
: "${PROBITY:?the built program}"
# shellcheck source=operator.sh
. "$here/operator.sh"

mkdir -p "$root/work/.probity/agents"
cp "$here/../../testdata/clients/$name/profile.md" "$root/work/.probity/agents/$name.md"

# Probity reads the agent's output; so do we.
program=$CLIENTS/$name/node_modules/.bin/$name
[ -x "$program" ] || program=$CLIENTS/$name/bin/$name
cat >"$root/bin/$name" <<EOF
#!/usr/bin/env bash
"$program" "\$@" | tee "$out/attempt-\$PROBITY_ATTEMPT.raw"
exit "\${PIPESTATUS[0]}"
EOF
chmod +x "$root/bin/$name"

cd "$root/work"
rm -f "$out"/attempt-*
alone "$PROBITY" trust >&2
started_ms=$(date +%s%3N)
code=0
alone "$PROBITY" run "Write hello to out.txt" --agent "$name" --attempt-timeout 90s \
    --expect file:out.txt,created,contains=hello --json >"$out/report.raw" || code=$?
elapsed_ms=$(($(date +%s%3N) - started_ms))
"$here/scrub.pl" "$root" "$CLIENTS" "$out"/{attempt-*,requests,report}.raw
python3 -m json.tool --indent 2 --no-ensure-ascii "$out/report.jsonl" "$out/report.json"
echo "$name: exit $code, $elapsed_ms ms" >&2
exit "$code"
