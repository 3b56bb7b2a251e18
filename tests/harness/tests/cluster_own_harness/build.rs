//! Concurrent builds: the module is small, so that a build takes a second and not minutes.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use almanac_harness::{Built, GoBuild, TestResult};
use anyhow::{Result, anyhow, ensure};

/// A module that requires a Kubernetes of its own making.
fn module(name: &str) -> Result<GoBuild> {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let build = GoBuild { sources: folder.join("sources"), kept_in: folder.join("kept") };
    fs::create_dir_all(build.sources.join("kubernetes"))?;
    fs::write(build.sources.join("kubernetes/go.mod"), "module k8s.io/kubernetes\n\ngo 1.21\n")?;
    let requirements = "module m\n\ngo 1.21\n\nrequire k8s.io/kubernetes v1.2.3\n\n\
                        replace k8s.io/kubernetes => ./kubernetes\n";
    fs::write(build.sources.join("go.mod"), requirements)?;
    write_program(&build, "ahoy")?;
    Ok(build)
}

fn write_program(build: &GoBuild, output: &str) -> Result<()> {
    let program =
        format!("package main\n\nimport \"fmt\"\n\nfunc main() {{ fmt.Print(\"{output}\") }}\n");
    Ok(fs::write(build.sources.join("main.go"), program)?)
}

fn run(built: &Built) -> Result<String> {
    let output = Command::new(built.folder.join("etcd")).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn concurrent_runs_build_once_and_share_the_result() -> TestResult {
    let build = module("at-once")?;
    let builds: Vec<_> = (0..4)
        .map(|_| {
            let build = build.clone();
            std::thread::spawn(move || build.provide())
        })
        .collect();
    let mut outcomes = Vec::new();
    for thread in builds {
        outcomes.push(thread.join().map_err(|_| anyhow!("a build panicked"))??);
    }
    assert_eq!(outcomes.iter().filter(|one| one.now).count(), 1, "{outcomes:?}");
    for one in &outcomes {
        assert_eq!(one.folder, outcomes[0].folder);
        assert_eq!(run(one)?, "ahoy");
    }
    Ok(())
}

#[test]
fn a_changed_source_is_rebuilt_next_to_the_old_build() -> TestResult {
    let build = module("changed")?;
    let before = build.provide()?;
    assert_eq!(build.provide()?, Built { now: false, ..before.clone() });
    write_program(&build, "farewell")?;
    let after = build.provide()?;
    assert!(after.now);
    assert_ne!(before.folder, after.folder);
    assert_eq!((run(&before)?.as_str(), run(&after)?.as_str()), ("ahoy", "farewell"));
    Ok(())
}

#[test]
fn a_failed_build_reports_its_reason_and_leaves_nothing_that_looks_built() -> TestResult {
    let build = module("failing")?;
    fs::write(build.sources.join("main.go"), "package main\n\nfunc main() { undefined() }\n")?;
    let error = format!("{:#}", build.provide().expect_err("the build must fail"));
    assert!(error.contains("undefined: undefined"), "{error}");
    write_program(&build, "fixed")?;
    let fixed = build.provide()?;
    ensure!(fixed.now, "it was not built");
    assert_eq!(run(&fixed)?, "fixed");
    Ok(())
}
