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
    from=${PROBITY_RELEASES:-https://github.com/probity-dev/probity/releases/download}
    # A release has one archive for each machine: static, or for the C library that it was built beside.
    # Which one is taken is of no weight: it must have the checksum.
    for libc in musl gnu; do
        name="probity-$VERSION-$(uname -m)-unknown-linux-$libc"
        if curl --fail --silent --show-error --location --max-time 300 --retry 3 \
            --output "$folder/probity.tar.gz" "$from/v$VERSION/$name.tar.gz"; then
            break
        fi
    done
    (cd "$folder" && echo "$SHA256  probity.tar.gz" | sha256sum --check --strict --quiet)
    tar -xzf "$folder/probity.tar.gz" -C "$folder" --strip-components=1
fi
"$folder/bin/probity" --version
echo "$folder/bin" >> "$GITHUB_PATH"
