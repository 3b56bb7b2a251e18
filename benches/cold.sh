#!/usr/bin/env bash
# Measures the first commands after the repository has been cloned: the README's first command, the offline
# build, a rebuild after a change, and, with --tests, the README's test command. The script fetches and
# builds everything from scratch, and then removes the directory.
#
#     benches/cold.sh [--tests] [--keep] [DIRECTORY]
#
# The script measures the last commit. It prints wall-clock and CPU seconds, and does not judge them.
set -euo pipefail

tests=false keep=false folder=
for argument in "$@"; do
    case $argument in
        --tests) tests=true ;;
        --keep) keep=true ;;
        -*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        *) folder=$argument ;;
    esac
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d "${folder:-${TMPDIR:-/tmp}}/almanac-cold.XXXXXX")
# Go's modules are read-only.
$keep || trap 'chmod -R u+w "$folder" && rm -rf "$folder"' EXIT

# Keep only the access to the registry from the environment of this user.
mkdir "$folder/cargo" "$folder/logs"
for file in config.toml credentials.toml; do
    if [[ -e ${CARGO_HOME:-$HOME/.cargo}/$file ]]; then cp "${CARGO_HOME:-$HOME/.cargo}/$file" "$folder/cargo/"; fi
done
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export CARGO_HOME=$folder/cargo XDG_CACHE_HOME=$folder/cache XDG_DATA_HOME=$folder/data HOME=$folder
export GOPATH=$folder/go GOMODCACHE=$folder/go/mod GOCACHE=$folder/go-build
unset CARGO_TARGET_DIR ALMANAC_CACHE KUBECONFIG_TEST KUBEBUILDER_ASSETS
git clone --quiet "$root" "$folder/almanac"
cd "$folder/almanac"

# The first command in a block of the README that starts with these words, with or without a prompt.
documented() {
    grep --max-count=1 "^\(\$ \)\?$1" README.md | sed 's/^\$ //'
}

# Runs the remaining arguments as a command, and prints a line of the table.
measure() {
    local name=$1 status=0 wall user system
    shift
    TIMEFORMAT='%R %U %S'
    { time "$@" >"$folder/logs/output" 2>&1 </dev/null || status=$?; } 2>"$folder/logs/times"
    read -r wall user system <"$folder/logs/times"
    printf '| %-44s | %8.1f | %8.1f |\n' "$name" "$wall" "$(awk "BEGIN { print $user + $system }")"
    if ((status)); then
        tail -n 20 "$folder/logs/output" >&2
        echo "$name: failed with $status" >&2
    fi
}

# A change that every part of the build must compile.
change() {
    echo "// $RANDOM" >>crates/engine/src/lib.rs
}

echo "$(nproc) processors, $(rustc --version), $(git log -1 --format='commit %h')"
printf '| %-44s | %8s | %8s |\n|---|--:|--:|\n' measured "wall s" "CPU s"
read -ra offline <<<"$(documented 'cargo run --release --no-default-features')"
CARGO_TARGET_DIR=$folder/offline measure "README's first command, nothing there" "${offline[@]}"
read -ra whole <<<"$(documented 'cargo run --release -- forecast')"
measure "the same from the whole program" "${whole[@]}"
measure "the same again" "${whole[@]}"
measure "debug build, crates fetched" cargo build
change
measure "debug build after a change in the engine" cargo build
change
measure "its tests after a change in the engine" cargo test --package almanac-engine --no-run

if $tests; then
    # Also remove the fetched packages.
    rm -rf target "$CARGO_HOME/registry" "$folder/cache"
    read -ra all <<<"$(documented 'cargo xtask lint arch test')"
    measure "${all[*]}, nothing there" "${all[@]}"
    measure "the same again" "${all[@]}"
    measure "cargo xtask test --quick" cargo xtask test --quick
fi
