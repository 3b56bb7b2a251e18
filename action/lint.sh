#!/usr/bin/env bash
# Shows findings as annotations, and in the summary as a table.
set -euo pipefail

# One instant from which all that is printed looks ahead.
arguments=(--fail-on "$FAIL_ON" --from "$(date -u +%Y-%m-%dT%H:%M:%SZ)")
if [[ -n $IGNORE ]]; then
    arguments+=(--ignore "$IGNORE")
fi
while read -r path; do
    path=${path%$'\r'}
    if [[ -n $path ]]; then
        arguments+=("--filename=$path")
    fi
done <<<"$PATHS"

code=0
"$ALMANAC" lint "${arguments[@]}" -o github || code=$?
if ((code > 1)); then
    exit "$code"
fi
echo "findings=$code" >>"$GITHUB_OUTPUT"
{
    echo "## Almanac: findings"
    echo
    "$ALMANAC" lint "${arguments[@]}" -o markdown || true
} >>"$GITHUB_STEP_SUMMARY"
if [[ -n $SARIF ]]; then
    # Half a file would be kept for a whole one.
    "$ALMANAC" lint "${arguments[@]}" -o sarif >"$SARIF" || (($? == 1)) || {
        rm -f "$SARIF"
        exit 2
    }
fi
exit "$code"
