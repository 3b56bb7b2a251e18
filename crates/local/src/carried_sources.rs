//! The Go sources of the control plane, embedded in the program, so that an installed program can build the control
//! plane.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::go_build::{SOURCES, hexadecimal};
use crate::kubernetes_version::KubernetesVersion;
use crate::whole_file::write_whole;

/// Writes the sources of a version to a directory below this directory, unless they exist; returns the path.
pub(crate) fn write(kept_in: &Path, version: KubernetesVersion) -> Result<PathBuf> {
    // All files that `go build` reads.
    let files = [
        ("go.mod", version.go_mod),
        ("go.sum", version.go_sum),
        ("main.go", include_str!("../cluster/main.go")),
    ];
    let mut digest = Sha256::new();
    for (_, text) in files {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    }
    let folder = kept_in.join(format!("{SOURCES}{version}-{}", hexadecimal(digest)));
    for (name, text) in files {
        let file = folder.join(name);
        if fs::read_to_string(&file).is_ok_and(|there| there == text) {
            continue;
        }
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        write_whole(&file, text)?;
    }
    Ok(folder)
}
