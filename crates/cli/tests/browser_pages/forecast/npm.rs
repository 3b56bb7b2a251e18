//! Programs and rules from npm, for these tests only: each by the hash of its main file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest as _, Sha256};

use crate::installing::needs;

/// A file of a package, which is installed if missing.
pub(crate) fn file(package: &str, file: &str, sha256: &str) -> PathBuf {
    needs("npm");
    let (name, _) = package.split_once('@').unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("npm").join(name);
    let file = folder.join("node_modules").join(name).join(file);
    if !is_right(&file, sha256) {
        fs::create_dir_all(&folder).unwrap();
        let mut install = Command::new("npm");
        install.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"]);
        let installed = install.arg("--prefix").arg(&folder).arg(package).output().unwrap();
        assert!(is_right(&file, sha256), "failed to install {package} from npm: {installed:?}");
    }
    file
}

fn is_right(file: &Path, sha256: &str) -> bool {
    let hash = |bytes: Vec<u8>| BASE64_STANDARD.encode(Sha256::digest(bytes));
    fs::read(file).is_ok_and(|bytes| hash(bytes) == sha256)
}
