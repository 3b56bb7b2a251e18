//! The modules of the page declare their types in comments. TypeScript, from npm, checks them.

use std::path::Path;
use std::process::Command;

use crate::forecast::npm;

/// The hash of the compiler.
const SHA256: &str = "6PNJ6r1ISGvbK/ncGgDInVgpcnDFS3RYOIeeKFkZRBk=";

#[test]
fn the_types_in_the_comments_of_the_modules_are_correct() {
    let compiler = npm::file("typescript@5.9.3", "lib/_tsc.js", SHA256);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/forecast/page/page.js");
    let mut check = Command::new("node");
    check.arg(compiler).args(["--noEmit", "--strict", "--allowJs", "--checkJs"]);
    check.args(["--target", "es2023", "--module", "es2022", "--lib", "es2023,dom,dom.iterable"]);
    let checked = check.arg(page).output().unwrap();
    let output = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && output.is_empty(), "{output}");
}
