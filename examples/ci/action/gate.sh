#!/usr/bin/env bash
# Runs a delegation, reports it to the job, and leaves its bundle behind. The exit code is that of the run.
set -euo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:?}/probity-XXXXXX")
export PROBITY_STORE="sqlite:$folder/runs.db"

# What may run is what was reviewed, and not what a branch brings along: trust is by content.
if [ -n "${TRUSTED_REF:-}" ]; then
    mkdir "$folder/trusted"
    git archive "$TRUSTED_REF" | tar -x -C "$folder/trusted"
    if [ -d "$folder/trusted/.probity" ]; then
        probity trust "$folder/trusted/.probity"
    fi
fi

# The delegate has no business with the files in which the runner takes variables and summaries.
code=0
env -u GITHUB_ENV -u GITHUB_OUTPUT -u GITHUB_PATH -u GITHUB_STATE -u GITHUB_STEP_SUMMARY \
    probity run --ci --ci-summary "${GITHUB_STEP_SUMMARY:?}" --junit "$folder/junit.xml" \
    --request "$REQUEST" || code=$?

{
    echo "junit=$folder/junit.xml"
    if probity export last --bundle "$folder/run.probity" >&2; then
        echo "bundle=$folder/run.probity"
    fi
} >> "$GITHUB_OUTPUT"
exit "$code"
