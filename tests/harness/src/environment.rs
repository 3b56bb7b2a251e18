//! The variables that name an existing cluster for the tests. `almanac_local::environment` has the variables for
//! programs and directories.

use std::path::PathBuf;

use almanac_local::environment::path;
use anyhow::{Result, bail};

/// A kubeconfig: tests in a namespace of their own use that cluster instead of a new control plane.
pub const KUBECONFIG_TEST: &str = "KUBECONFIG_TEST";
/// The run directory of a control plane that `control-plane up` started. The test processes of a run share that control
/// plane.
pub const CONTROL_PLANE: &str = "ALMANAC_TEST_CONTROL_PLANE";

/// The value of `KUBECONFIG_TEST`. It must name a file.
pub fn foreign_kubeconfig() -> Result<Option<PathBuf>> {
    let Some(file) = path(KUBECONFIG_TEST) else {
        return Ok(None);
    };
    if !file.is_file() {
        bail!("{KUBECONFIG_TEST} names {}, which is not a file", file.display());
    }
    Ok(Some(file))
}

/// The run directory in `ALMANAC_TEST_CONTROL_PLANE`. It must contain a kubeconfig.
pub fn handed_over_run() -> Result<Option<PathBuf>> {
    let Some(folder) = path(CONTROL_PLANE) else {
        return Ok(None);
    };
    if !folder.join("kubeconfig").is_file() {
        bail!(
            "{CONTROL_PLANE} names {}, where no control plane is running: start one with `control-plane up`",
            folder.display()
        );
    }
    Ok(Some(folder))
}
