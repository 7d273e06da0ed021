#!/usr/bin/env bash
# Puts probity on the path of the job: a release whose checksum was written down, or a build.
set -euo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:?}/probity-XXXXXX")
if [ -z "${VERSION:-}" ]; then
    source=${PROBITY_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)}
    cargo install --locked --path "$source/crates/probity" --root "$folder"
else
    if [ -z "${SHA256:-}" ]; then
        echo "install.sh: a release is taken by its checksum: give sha256, as its SHA256SUMS has it" >&2
        exit 64
    fi
    name="probity-$VERSION-$(uname -m)-unknown-linux-gnu"
    from=${PROBITY_RELEASES:-https://github.com/probity-dev/probity/releases/download}
    curl --fail --silent --show-error --location --max-time 300 --retry 3 \
        --output "$folder/$name.tar.gz" "$from/v$VERSION/$name.tar.gz"
    (cd "$folder" && echo "$SHA256  $name.tar.gz" | sha256sum --check --strict --quiet)
    tar -xzf "$folder/$name.tar.gz" -C "$folder" --strip-components=1
fi
"$folder/bin/probity" --version
echo "$folder/bin" >> "$GITHUB_PATH"
