#!/usr/bin/env bash
# Shows findings as annotations, and in the summary as a table: one run writes all of it.
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

# Where findings in SARIF link to: the page in the repository that this action is from.
export ALMANAC_DOCUMENTED_IN=${GITHUB_SERVER_URL:+$GITHUB_SERVER_URL/$REPOSITORY/blob/${REF:-HEAD}}

code=0
"$ALMANAC" lint "${arguments[@]}" "${outputs[@]}" || code=$?
if ((code > 1)); then
    # What could not be read has no findings: as a report of all files, this one would close alerts.
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
