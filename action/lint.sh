#!/usr/bin/env bash
# Shows findings as annotations, and as a table in the summary: one run writes both.
set -euo pipefail

table=$(mktemp)
outputs=(-o github -o "markdown=$table")
if [[ -n $SARIF ]]; then
    outputs+=(-o "sarif=$SARIF")
fi
arguments=(--fail-on "$FAIL_ON")
if [[ -n $IGNORE ]]; then
    arguments+=(--ignore "$IGNORE")
fi
while read -r path; do
    path=${path%$'\r'}
    if [[ -n $path ]]; then
        arguments+=("--filename=$path")
    fi
done <<<"$PATHS"

# The target of links in SARIF findings: the page in the repository of this action.
export ALMANAC_DOCUMENTED_IN=${GITHUB_SERVER_URL:+$GITHUB_SERVER_URL/$REPOSITORY/blob/${REF:-HEAD}}

code=0
"$ALMANAC" lint "${arguments[@]}" "${outputs[@]}" || code=$?
if ((code > 1)); then
    # Unreadable files have no findings. As a report of all files, this one would close alerts.
    [[ -z $SARIF ]] || rm -f -- "$SARIF"
    exit "$code"
fi
{
    echo "findings=$code"
    echo "table=$table"
} >>"$GITHUB_OUTPUT"
{
    echo "## Almanac: findings"
    echo
    cat "$table"
} >>"$GITHUB_STEP_SUMMARY"
exit "$code"
