#!/usr/bin/env bash
# Finds, downloads or builds the program, and outputs its path.
set -euo pipefail

fail() {
    echo "::error title=Almanac::$1"
    exit 2
}

if [[ -n $BINARY ]]; then
    almanac=$(command -v -- "$BINARY") || fail "there is no program $BINARY; correct the input binary"
elif [[ -n $RELEASE ]]; then
    machine=$(uname -m)-$(uname -s)
    case $machine in
        x86_64-Linux) target=x86_64-unknown-linux-gnu ;;
        aarch64-Linux) target=aarch64-unknown-linux-gnu ;;
        x86_64-Darwin) target=x86_64-apple-darwin ;;
        arm64-Darwin) target=aarch64-apple-darwin ;;
        *) fail "there is no release for $machine; leave the input release out, and the program is built" ;;
    esac
    folder=$RUNNER_TEMP/almanac-release
    archive=almanac-$target.tar.gz
    from=${ALMANAC_RELEASES:-$GITHUB_SERVER_URL/$REPOSITORY/releases/download}/$RELEASE
    mkdir -p "$folder"
    for file in "$archive" "$archive.sha256"; do
        curl --fail --silent --show-error --location --retry 3 --output "$folder/$file" "$from/$file" ||
            fail "failed to download $from/$file; is $RELEASE a release?"
    done
    sum=sha256sum
    command -v sha256sum >/dev/null || sum="shasum -a 256"
    (cd "$folder" && $sum --check --quiet "$archive.sha256") ||
        fail "the checksum of $archive is wrong; nothing of it is run"
    tar --extract --gzip --file "$folder/$archive" --directory "$folder" almanac
    almanac=$folder/almanac
else
    command -v cargo >/dev/null ||
        fail "there is no Rust to build almanac with; install it, or name a release or a binary"
    # Next to the cache that the workflow keeps between runs, if there is one.
    target=${CARGO_TARGET_DIR:-$RUNNER_TEMP/almanac-target}
    # The action reads files only.
    cargo build --release --locked --package almanac --no-default-features --features offline \
        --target-dir "$target" --manifest-path "$GITHUB_ACTION_PATH/Cargo.toml" || fail "failed to build almanac"
    almanac=$target/release/almanac
fi
"$almanac" --version
echo "almanac=$almanac" >>"$GITHUB_OUTPUT"
