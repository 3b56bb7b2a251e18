#!/usr/bin/env bash
# Says in the summary what the change does over time.
set -euo pipefail

skip() {
    if [[ $FAIL_ON_CHANGE == true ]]; then
        echo "::error title=Almanac::what the change does cannot be compared: $1"
        exit 2
    fi
    echo "::notice title=Almanac::what the change does was not compared: $1"
    exit 0
}

if [[ -z $BASE || $BASE =~ ^0+$ ]]; then
    skip "there is nothing to compare with; set the input base to a revision"
fi
if [[ $BASE == -* ]]; then
    echo "::error title=Almanac::$BASE is not a revision"
    exit 2
fi
# A checkout has the newest commit only, unless it is asked for more.
if ! git cat-file -e "$BASE^{commit}" 2>/dev/null; then
    git fetch --quiet --no-tags --depth=1 origin "$BASE" || skip "failed to fetch $BASE"
    # A branch is fetched under no name of its own.
    git cat-file -e "$BASE^{commit}" 2>/dev/null || BASE=FETCH_HEAD
fi
arguments=(--git "$(git rev-parse --verify "$BASE^{commit}")..HEAD")
if [[ -n $PERIOD ]]; then
    arguments+=(--for "$PERIOD")
fi
paths=()
while read -r path; do
    path=${path%$'\r'}
    if [[ -n $path ]]; then
        paths+=("$path")
    fi
done <<<"$PATHS"

text=$(mktemp)
code=0
"$ALMANAC" diff "${arguments[@]}" --fail-on never --fail-on-change -o markdown \
    -- "${paths[@]}" >"$text" || code=$?
if ((code > 1)); then
    exit "$code"
fi
changed=false
if ((code == 1)); then
    changed=true
fi
echo "changed=$changed" >>"$GITHUB_OUTPUT"
{
    echo "## Almanac: what this change does"
    echo
    cat "$text"
} >>"$GITHUB_STEP_SUMMARY"
cat "$text"
if [[ $changed == true && $FAIL_ON_CHANGE == true ]]; then
    exit 1
fi
