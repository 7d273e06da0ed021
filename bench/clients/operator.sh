# What an operator sets up for each agent: sourced by try.sh and acp.sh, which set `name`, `out` and
# `here`. Afterwards there are `root` (removed at exit) with the folders `work`, `home` and `bin`, a
# running model server, and `settings` and `acp`: the environment, and the command that speaks ACP.

: "${CLIENTS:?the folder of the agents}"
node_bin=$CLIENTS/node22/node_modules/.bin

root=$(mktemp -d)
mkdir -p "$root/home" "$root/bin" "$root/work"
git init -q "$root/work"

python3 "$here/model_server.py" --port-file "$root/port" --log "$out/requests.raw" \
    --workdir "$root/work" &
server=$!
trap 'kill $server; rm -rf "$root"' EXIT
for _ in $(seq 100); do [ -s "$root/port" ] && break || sleep 0.1; done
url=http://127.0.0.1:$(cat "$root/port")

settings=()
acp=()
case $name in
aider)
    settings=(OPENAI_API_BASE="$url/v1" OPENAI_API_KEY=none AIDER_MODEL=openai/scripted
        AIDER_EDIT_FORMAT=whole AIDER_SHOW_MODEL_WARNINGS=false LITELLM_LOCAL_MODEL_COST_MAP=True)
    ;;
claude)
    settings=(ANTHROPIC_BASE_URL="$url" ANTHROPIC_API_KEY=none
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1)
    acp=("$CLIENTS/cc-acp/node_modules/.bin/claude-code-acp")
    ;;
cline)
    env -i HOME="$root/home" PATH="$node_bin:/usr/bin:/bin" "$CLIENTS/cline/node_modules/.bin/cline" \
        auth -p openai -k none -m scripted -b "$url/v1" >/dev/null </dev/null
    acp=("$CLIENTS/cline/node_modules/.bin/cline" --acp)
    ;;
codex)
    mkdir -p "$root/home/.codex"
    sed "s|@URL@|$url|" "$here/codex.toml" >"$root/home/.codex/config.toml"
    settings=(SCRIPTED_API_KEY=none)
    acp=("$CLIENTS/codex-acp/node_modules/.bin/codex-acp")
    ;;
gemini)
    mkdir -p "$root/home/.gemini"
    cp "$here/gemini.json" "$root/home/.gemini/settings.json"
    settings=(GOOGLE_GEMINI_BASE_URL="$url" GEMINI_API_KEY=none GEMINI_MODEL=gemini-2.5-flash)
    acp=("$CLIENTS/gemini/node_modules/.bin/gemini" --acp --skip-trust)
    ;;
opencode)
    mkdir -p "$root/home/.config/opencode"
    sed "s|@URL@|$url|" "$here/opencode.json" >"$root/home/.config/opencode/opencode.json"
    acp=("$CLIENTS/opencode/node_modules/.bin/opencode" acp)
    ;;
chat) ;; # A chat model of Probity's own, without an agent around it.
qwen)
    settings=(OPENAI_BASE_URL="$url/v1" OPENAI_API_KEY=none OPENAI_MODEL=scripted)
    acp=("$CLIENTS/qwen/node_modules/.bin/qwen" --acp)
    ;;
*)
    echo "no such agent: $name" >&2
    exit 64
    ;;
esac

# Runs a command with nothing of the caller's environment.
alone() {
    env -i HOME="$root/home" PATH="$root/bin:$node_bin:/usr/bin:/bin" LANG=C.UTF-8 TERM=dumb \
        "${settings[@]}" "$@"
}
