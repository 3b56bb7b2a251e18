//! The rules of axe-core, by which others look for barriers in a page too. It comes from npm, for this test only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

use crate::chromium::Page;
use crate::installing::needs;

const PACKAGE: &str = "axe-core@4.14.1";

/// Of its one file.
const SHA256: &str = "KTSJmUUM3yhJqOcLeRL8LahahJ2jnA0NU5T1HUqe2Vw=";

static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    needs("npm");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let file = folder.join("node_modules/axe-core/axe.min.js");
    if !is_right(&file) {
        fs::create_dir_all(&folder).unwrap();
        let mut install = Command::new("npm");
        install.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
        let installed = install.arg("--prefix").arg(&folder).arg(PACKAGE).output().unwrap();
        assert!(is_right(&file), "failed to install {PACKAGE} from npm: {installed:?}");
    }
    fs::read_to_string(file).unwrap()
});

fn is_right(file: &Path) -> bool {
    let hash = |bytes: Vec<u8>| BASE64_STANDARD.encode(Sha256::digest(bytes));
    fs::read(file).is_ok_and(|bytes| hash(bytes) == SHA256)
}

/// What stands in the way of some readers: each rule, and where it does not hold.
pub(crate) fn barriers(page: &mut Page) -> Vec<String> {
    page.run(&SCRIPT);
    let found =
        "axe.run().then((it) => it.violations.map((rule) => rule.id + ': ' + rule.nodes[0].html))";
    let found = page.evaluate(&format!("window.axe && {found}"));
    serde_json::from_value(found).unwrap()
}
