//! The choice of the cluster, and the errors for an unreachable cluster. Tests with a cluster cover its responses.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::forecast::running::cron;
use crate::running::{self, Ran, empty_directory};

const POLICY: &str =
    cron!("shop-hours", "shop", r#"name: open, schedule: "0 8 * * *", targetReplicas: 10"#);

/// An empty directory for a test, which is also the home directory.
fn folder(name: &str) -> PathBuf {
    empty_directory("kubeconfig", name)
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = running::almanac(folder, arguments);
    command.env("HOME", folder).env_remove("COLUMNS");
    for variable in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
        command.env_remove(variable);
    }
    command
}

/// The error of a command that could not run, without the prefix of all these errors.
#[track_caller]
fn error_of(mut command: Command) -> String {
    let ran = Ran::from_output(&command.output().unwrap()).ended(2);
    assert_eq!(ran.stdout, "");
    let all = "error: failed to read from a cluster (to read files, name them with -f): ";
    ran.stderr.strip_prefix(all).unwrap_or_else(|| panic!("{}", ran.stderr)).trim_end().to_owned()
}

/// A kubeconfig with the current context `here`, and the context `there`.
fn kubeconfig(server: &str) -> String {
    let user = json!({ "name": "me", "user": { "token": "t" } });
    let context = |name: &str| json!({ "name": name, "context": { "cluster": "a", "user": "me" } });
    let cluster = json!({ "name": "a", "cluster": { "server": server } });
    let all = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [cluster], "users": [user], "contexts": [context("here"), context("there")],
    });
    all.to_string()
}

/// An address at which no program listens.
fn closed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("https://{}", listener.local_addr().unwrap())
}

const COMMANDS: [&[&str]; 3] = [&["next"], &["forecast"], &["explain", "shop"]];

#[test]
fn without_files_or_a_kubeconfig_the_error_names_the_paths_searched() {
    let folder = folder("none");
    let home = folder.join(".kube/config");
    for arguments in COMMANDS {
        assert_eq!(
            error_of(command(&folder, arguments)),
            format!(
                "failed to find a cluster: no kubeconfig at {}, and not running in a pod",
                home.display()
            )
        );
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_named() {
    let folder = folder("unreachable");
    let server = closed();
    fs::write(folder.join("config"), kubeconfig(&server)).unwrap();
    for arguments in COMMANDS {
        let words = [arguments, &["--kubeconfig", "config"]].concat();
        assert_eq!(
            error_of(command(&folder, &words)),
            format!("failed to reach {server}: Connection refused (os error 111)")
        );
    }
}

#[test]
fn the_default_kubeconfig_paths_are_used() {
    let folder = folder("usual");
    let (by_variable, at_home) = (closed(), closed());
    fs::write(folder.join("named"), kubeconfig(&by_variable)).unwrap();
    fs::create_dir(folder.join(".kube")).unwrap();
    fs::write(folder.join(".kube/config"), kubeconfig(&at_home)).unwrap();
    let message = error_of(command(&folder, &["next"]));
    assert!(message.starts_with(&format!("failed to reach {at_home}: ")), "{message}");
    let mut with_variable = command(&folder, &["next"]);
    with_variable.env("KUBECONFIG", "named");
    let message = error_of(with_variable);
    assert!(message.starts_with(&format!("failed to reach {by_variable}: ")), "{message}");
}

#[test]
fn an_unusable_kubeconfig_is_named_without_leaking_secrets() {
    let folder = folder("unusable");
    fs::write(folder.join("mangled"), "users: [\n- token: {s3cret\n").unwrap();
    let failed = "failed to use the kubeconfig";
    let with = |file: &str| error_of(command(&folder, &["next", "--kubeconfig", file]));
    assert_eq!(with("absent"), format!("{failed} absent: No such file or directory (os error 2)"));
    let message = with("mangled");
    assert!(
        message.starts_with(&format!("{failed} mangled: not a valid kubeconfig: line ")),
        "{message}"
    );
    assert!(!message.contains("s3cret"), "{message}");
    let mut by_variable = command(&folder, &["next"]);
    by_variable.env("KUBECONFIG", "mangled");
    let message = error_of(by_variable);
    assert!(
        message.starts_with(&format!("{failed} mangled: not a valid kubeconfig: ")),
        "{message}"
    );
}

#[test]
fn an_unknown_context_is_reported_with_the_existing_ones() {
    let folder = folder("context");
    fs::write(folder.join("config"), kubeconfig("https://127.0.0.1:1")).unwrap();
    let words = ["next", "--kubeconfig", "config", "--context", "elsewhere"];
    assert_eq!(
        error_of(command(&folder, &words)),
        "failed to use the kubeconfig config: there is no context \"elsewhere\" in it; there are \
         here, there"
    );
}

#[test]
fn cluster_options_conflict_with_files_and_files_need_no_cluster() {
    let folder = folder("both");
    fs::write(folder.join("shop.yaml"), POLICY).unwrap();
    for further in [&["--kubeconfig", "config"][..], &["--context", "here"], &["-A"]] {
        for arguments in COMMANDS {
            let words = [arguments, &["-f", "shop.yaml"], further].concat();
            Ran::from_output(&command(&folder, &words).output().unwrap())
                .ended(2)
                .assert_stderr(&["'--filename <PATH>' cannot be used with"]);
        }
    }
    let output = command(&folder, &["next", "-f", "shop.yaml", "-n", "prod"]).output().unwrap();
    Ran::from_output(&output).assert_stdout(&["Deployment.apps prod/shop"]);
}

#[test]
fn a_namespace_and_all_namespaces_conflict() {
    let output = command(&folder("all"), &["next", "-A", "-n", "prod"]).output().unwrap();
    Ran::from_output(&output).ended(2).assert_stderr(&["cannot be used with"]);
}
