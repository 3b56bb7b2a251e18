#!/usr/bin/env bash
# Writes the effect of the change over time into the summary.
set -euo pipefail

# Any other value might be meant to close the gate, and would leave it open.
for input in "diff $DIFF" "fail-on-change $FAIL_ON_CHANGE"; do
    if [[ ! ${input#* } =~ ^(true|false)$ ]]; then
        echo "::error title=Almanac::the input ${input%% *} is true or false, and nothing else"
        exit 2
    fi
done

skip() {
    if [[ $FAIL_ON_CHANGE == true ]]; then
        echo "::error title=Almanac::what the change does cannot be compared: $1"
        exit 2
    fi
    echo "::notice title=Almanac::what the change does was not compared: $1"
    exit 0
}

is_shallow() {
    [[ $(git rev-parse --is-shallow-repository) == true ]]
}

# Whether a commit is available, fetched if needed. By default, a checkout has the newest commit only; a complete one
# must stay complete.
fetched() {
    local depth=()
    if is_shallow; then
        depth=(--depth=1)
    fi
    git cat-file -e "$1^{commit}" 2>/dev/null ||
        git fetch --quiet --no-tags ${depth[@]+"${depth[@]}"} origin "$1"
}

# Sets `from` to the last common commit of a base and HEAD: later commits of the base are not part of the change.
# Fetches more and more of the history until there is a common commit.
find_merge_base() {
    local more
    for more in 0 100 1000 10000 2147483647; do
        if ((more > 0)); then
            is_shallow || return 1
            git fetch --quiet --no-tags --deepen="$more" origin "$1" "$(git rev-parse HEAD)" ||
                git fetch --quiet --no-tags --deepen="$more" origin "$1" || return 1
        fi
        if from=$(git merge-base "$1" HEAD 2>/dev/null); then
            return 0
        fi
    done
    return 1
}

# Rejects options of git, and refspecs that would write a branch when fetched.
if [[ $BASE == [-+]* || $BASE == *:* ]]; then
    echo "::error title=Almanac::$BASE is not a revision"
    exit 2
fi
# The parents of HEAD, even if they are not fetched.
read -r -a parents < <(git cat-file commit HEAD | sed -n '/^$/q; s/^parent //p' | tr '\n' ' ') || true
if [[ -z $BASE && $REF == refs/pull/*/merge && ${#parents[@]} == 2 && $(git rev-parse HEAD) == "$SHA" ]]; then
    # GitHub has merged the pull request into its base: the base is the first parent, however old the event is.
    from=${parents[0]}
    fetched "$from" || skip "failed to fetch $from"
else
    BASE=${BASE:-$PULL_REQUEST_BASE}
    if [[ -z $BASE && -n $PUSHED_ON && ! $PUSHED_ON =~ ^0+$ ]]; then
        # Compares with the state before the push, even if history has been rewritten.
        from=$PUSHED_ON
        fetched "$from" || skip "failed to fetch $from"
    elif [[ -z $BASE ]]; then
        skip "there is nothing to compare with; set the input base to a revision"
    else
        if ! git cat-file -e "$BASE^{commit}" 2>/dev/null; then
            fetched "$BASE" || skip "failed to fetch $BASE"
            # A fetched branch gets no name of its own.
            git cat-file -e "$BASE^{commit}" 2>/dev/null || BASE=FETCH_HEAD
        fi
        # Further fetches use the current commit of the branch.
        BASE=$(git rev-parse --verify "$BASE^{commit}")
        find_merge_base "$BASE" || skip "$BASE and HEAD have no commit in common"
    fi
fi
if [[ $(git rev-parse --verify "$from^{commit}") == "$(git rev-parse HEAD)" ]]; then
    # A comparison of HEAD with itself shows no change.
    skip "$from is what is checked out; check the change out, or correct the input base"
fi
arguments=(--git "$from..HEAD")
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
    -- ${paths[@]+"${paths[@]}"} >"$text" || code=$?
if ((code > 1)); then
    # The output names the files that could not be read.
    cat "$text"
    exit "$code"
fi
changed=false
if ((code == 1)); then
    changed=true
fi
{
    echo "changed=$changed"
    echo "text=$text"
} >>"$GITHUB_OUTPUT"
{
    echo "## Almanac: what this change does"
    echo
    cat "$text"
} >>"$GITHUB_STEP_SUMMARY"
cat "$text"
if [[ $changed == true && $FAIL_ON_CHANGE == true ]]; then
    exit 1
fi
