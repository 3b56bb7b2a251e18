//! The version of Kubernetes: the API server has the version that the environment selects.

use almanac_harness::{Binaries, ControlPlaneOptions, TestResult, on_own_control_plane};
use almanac_local::{KubernetesVersion, environment};

#[test]
fn the_api_server_is_of_the_selected_version() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let selected = match environment::assets_folder()? {
            Some(dir) => Binaries::in_folder(&dir)?.kubernetes_version()?,
            None => KubernetesVersion::from_environment()?.patch().to_owned(),
        };
        let version = test.client().apiserver_version().await?;
        assert_eq!(version.git_version, format!("v{selected}"));
        Ok(())
    })
}
