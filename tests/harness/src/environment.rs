//! The variables that name a cluster for the tests, instead of one that they start. Where programs
//! are found and things are kept is up to `almanac_local::environment`.

use std::path::PathBuf;

use almanac_local::environment::path;
use anyhow::{Result, bail};

/// A kubeconfig: tests in a namespace of their own use that cluster instead of starting one.
pub const KUBECONFIG_TEST: &str = "KUBECONFIG_TEST";
/// The run directory of a control plane that `control-plane up` started: the test processes of one
/// run share it instead of starting one each.
pub const CONTROL_PLANE: &str = "ALMANAC_TEST_CONTROL_PLANE";

/// The value of `KUBECONFIG_TEST`, which must name a file.
pub fn foreign_kubeconfig() -> Result<Option<PathBuf>> {
    let Some(file) = path(KUBECONFIG_TEST) else {
        return Ok(None);
    };
    if !file.is_file() {
        bail!("{KUBECONFIG_TEST} names {}, which is not a file", file.display());
    }
    Ok(Some(file))
}

/// The run directory in `ALMANAC_TEST_CONTROL_PLANE`, which must hold a kubeconfig.
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
