#!/usr/bin/env bash
# Says in the summary what the change does over time.
set -euo pipefail

# What is neither might be meant to close the gate, and would leave it open.
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

# Whether a commit is here. A checkout has the newest one only, unless it is asked for more; one that has all is to keep it.
fetched() {
    local depth=()
    if is_shallow; then
        depth=(--depth=1)
    fi
    git cat-file -e "$1^{commit}" 2>/dev/null ||
        git fetch --quiet --no-tags ${depth[@]+"${depth[@]}"} origin "$1"
}

# Sets `from` to the last commit that a base and HEAD have in common: what has been merged into the base since is
# no part of the change. More and more of the history is fetched until there is one.
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

# No option of git, and nothing that would write a branch when it is fetched.
if [[ $BASE == [-+]* || $BASE == *:* ]]; then
    echo "::error title=Almanac::$BASE is not a revision"
    exit 2
fi
# The parents of HEAD, also where they are not here.
read -r -a parents < <(git cat-file commit HEAD | sed -n '/^$/q; s/^parent //p' | tr '\n' ' ') || true
if [[ -z $BASE && $REF == refs/pull/*/merge && ${#parents[@]} == 2 && $(git rev-parse HEAD) == "$SHA" ]]; then
    # GitHub has merged the pull request into its base for us: that is the first parent, however old the event is.
    from=${parents[0]}
    fetched "$from" || skip "failed to fetch $from"
else
    BASE=${BASE:-$PULL_REQUEST_BASE}
    if [[ -z $BASE && -n $PUSHED_ON && ! $PUSHED_ON =~ ^0+$ ]]; then
        # What was there is compared with what is there now, also if history has been rewritten.
        from=$PUSHED_ON
        fetched "$from" || skip "failed to fetch $from"
    elif [[ -z $BASE ]]; then
        skip "there is nothing to compare with; set the input base to a revision"
    else
        if ! git cat-file -e "$BASE^{commit}" 2>/dev/null; then
            fetched "$BASE" || skip "failed to fetch $BASE"
            # A branch is fetched under no name of its own.
            git cat-file -e "$BASE^{commit}" 2>/dev/null || BASE=FETCH_HEAD
        fi
        # Further fetches go by what it is now.
        BASE=$(git rev-parse --verify "$BASE^{commit}")
        find_merge_base "$BASE" || skip "$BASE and HEAD have no commit in common"
    fi
fi
if [[ $(git rev-parse --verify "$from^{commit}") == "$(git rev-parse HEAD)" ]]; then
    # Whatever the change is, nothing would differ.
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
    # It says what could not be read.
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
