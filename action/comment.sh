#!/usr/bin/env bash
# Writes the findings and the effect of the change into one comment on the pull request, which later runs update. The
# summary has the same content, so a failure to write the comment fails nothing.
#
# Self-hosted runners rarely have gh or jq; all have curl, which also downloads the program.
set -euo pipefail

if [[ ! $COMMENT =~ ^(true|false)$ ]]; then
    echo "::error title=Almanac::the input comment is true or false, and nothing else"
    exit 2
fi

give_up() {
    echo "::$1 title=Almanac::no comment was written: $2"
    exit 0
}

if [[ -z $NUMBER ]]; then
    give_up notice "this run is not about a pull request"
fi

# A comment has at most 65,536 characters, which are at least as many bytes.
most=64000
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run=$SERVER/$REPOSITORY/actions/runs/$RUN

size() {
    wc -c <"$1" | tr -d ' '
}

# Copies the lines of file $1 that fit into $2 bytes, and adds a note if lines are missing.
shorten() {
    if (($(size "$1") <= $2)); then
        cat "$1"
        return
    fi
    local note
    note=$(printf '\nThis is shortened; the whole is in the [summary of the run](%s).' "$run")
    LC_ALL=C awk -v most="$(($2 - ${#note} - 1))" '{ size += length($0) + 1; if (size > most) exit; print }' "$1"
    printf '%s\n' "$note"
}

# Each part has half of the space, and the space that the other part does not use.
if [[ ! -f $TABLE ]]; then
    TABLE=$folder/table
    echo "The files could not be checked; see the [log of the run]($run)." >"$TABLE"
fi
if [[ $DIFF == true && ! -f $TEXT ]]; then
    TEXT=$folder/text
    echo "What the change does was not compared; see the [log of the run]($run)." >"$TEXT"
fi
room=$((most / 2))
if [[ ! -f $TEXT ]]; then
    room=$most
elif (($(size "$TEXT") < room)); then
    room=$((most - $(size "$TEXT")))
fi

# A hidden mark identifies the comment. It names the workflow, the job and the paths, so that two uses of the action
# have a comment each. JSON escapes no character of it.
plain=$(printf '%s.%s' "$WORKFLOW" "$JOB" | LC_ALL=C tr -c 'A-Za-z0-9.' '_' | cut -c -100)
sum=$(printf '%s\n' "$WORKFLOW" "$JOB" "$PATHS" | cksum | cut -d ' ' -f 1)
mark="almanac-comment:$plain:$sum:"
{
    echo "<!-- $mark -->"
    echo "### Almanac: findings"
    echo
    shorten "$TABLE" "$room" | tee "$folder/first"
    if [[ -f $TEXT ]]; then
        echo
        echo "### Almanac: what this change does"
        echo
        shorten "$TEXT" $((most - $(size "$folder/first")))
    fi
} >"$folder/comment"

# The same as JSON. Its only control characters are line ends.
{
    printf '{"body":"'
    LC_ALL=C tr '\t' ' ' <"$folder/comment" | LC_ALL=C tr -d '\000-\010\013-\037' |
        LC_ALL=C sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' | LC_ALL=C awk '{ printf "%s\\n", $0 }'
    printf '"}'
} >"$folder/request"

# Sends a request, and sets `status` to the status of the response, or to 000 without a response. The token is not an
# argument, because other processes can see arguments.
request() {
    status=$(printf 'header = "Authorization: Bearer %s"\n' "$TOKEN" |
        curl --config - --silent --show-error --max-time 30 --output "$folder/response" \
            --dump-header "$folder/headers" --write-out '%{http_code}' \
            --header 'Accept: application/vnd.github+json' --header 'X-GitHub-Api-Version: 2022-11-28' \
            "$@") || status=000
}

# The error message of the response, without characters that a log might interpret as a command.
message() {
    LC_ALL=C grep -Eo '"message": *"([^"\\]|\\.)*"' "$folder/response" | head -n 1 |
        sed -e 's/^"message": *"//' -e 's/"$//' | LC_ALL=C tr -cd 'A-Za-z0-9 .,_/-' | cut -c -200 || true
}

explain() {
    local said
    if [[ $status == 000 ]]; then
        give_up warning "failed to $1: $API does not respond; the summary has the same"
    fi
    said=$(message)
    if [[ $status == 429 || $said == *"rate limit"* ]] ||
        { [[ $status == 403 ]] && LC_ALL=C grep -Eiq '^x-ratelimit-remaining: *0' "$folder/headers"; }; then
        give_up warning "failed to $1: $API limits the requests of this token (status $status); the summary has the same"
    fi
    case "$status $said" in
        404* | 403*"not accessible"* | 403*"admin rights"*)
            if [[ $HEAD_REPOSITORY != "$REPOSITORY" ]]; then
                give_up notice "a pull request from a fork has a token that may only read; the summary has the same"
            fi
            give_up warning "the token may not $1; give the job the permission pull-requests: write"
            ;;
        *) give_up warning "failed to $1: $API responded with $status${said:+ ($said)}; the summary has the same" ;;
    esac
}

# The URL of a comment of GitHub's own user with the mark, in a page of them. In JSON, a quotation mark within a text
# has a backslash before it, so no text matches as a field.
marked() {
    LC_ALL=C grep -Eo '"(url|login|body)": *"([^"\\]|\\.)*"' "$folder/response" |
        LC_ALL=C awk -v mark="$mark" '
            /^"url": *"[^"]*\/issues\/comments\/[0-9]+"$/ { url = $0; login = "" }
            /^"login":/ && login == "" { login = $0 }
            /^"body":/ && url != "" && login ~ /"github-actions\[bot\]"$/ && index($0, mark) {
                gsub(/^"url": *"|"$/, "", url); print url; exit
            }' || true
}

comments=$API/repos/$REPOSITORY/issues/$NUMBER/comments
found=
for ((page = 1; page <= 100; page++)); do
    # curl's --retry would wait as long as Retry-After requests, which may be an hour.
    for _ in 1 2 3; do
        request "$comments?per_page=100&page=$page"
        [[ $status == 000 || $status == 5?? ]] || break
        sleep 1
    done
    [[ $status == 200 ]] || explain "list the comments of the pull request"
    found=$(marked)
    if [[ -n $found ]] || ! LC_ALL=C grep -Eiq '^link:.*rel="next"' "$folder/headers"; then
        break
    fi
done

if [[ -n $found ]]; then
    request --request PATCH --header 'Content-Type: application/json' --data-binary "@$folder/request" "$found"
    if [[ $status == 200 ]]; then
        echo "updated $found"
        exit 0
    fi
    # A user may have deleted it since.
    [[ $status == 404 ]] || explain "update the comment"
fi
request --request POST --header 'Content-Type: application/json' --data-binary "@$folder/request" "$comments"
[[ $status == 201 ]] || explain "create a comment"
echo "created a comment"
