//! A real kubectl completes the command line of its plugin by calling it.

use std::process::Command;
use std::{env, fs};

use almanac_harness::{TestResult, on_shared_cluster};
use anyhow::Context as _;

#[test]
fn kubectl_completes_the_arguments_of_the_plugin() -> TestResult {
    on_shared_cluster(async |cluster| {
        let kubectl = cluster.kubectl().await?;
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        for name in ["kubectl-almanac", "kubectl_complete-almanac"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_almanac"), folder.join(name))?;
        }
        let path = env::var("PATH").context("there is no PATH")?;
        let path = format!("{}:{path}", folder.display());
        let offered = |words: &[&str]| -> anyhow::Result<String> {
            let mut command = Command::new(kubectl.program());
            command.args(["__complete", "almanac"]).args(words).env("PATH", &path);
            Ok(String::from_utf8(command.output()?.stdout)?)
        };
        let commands = offered(&["fore"])?;
        assert_eq!(commands, "forecast\tShow what policies will do, before they do it\n:4\n");
        assert_eq!(offered(&["forecast", "--zone", "Europe/Berl"])?, "Europe/Berlin\n:4\n");
        assert!(offered(&["next", ""])?.contains("--all-namespaces\t"));
        // The path of a directory continues, without a space after it.
        assert_eq!(
            offered(&["validate", "-f", "tests/support/harbo"])?,
            "tests/support/harbor/\n:6\n"
        );
        Ok(())
    })
}
