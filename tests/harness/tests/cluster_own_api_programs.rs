//! Programs that serve, and programs of tests that fail. etcd stands for the program: it answers
//! `/readyz` over plain HTTP.

use almanac_harness::{
    Binaries, Component, ControlPlaneOptions, Program, TestResult, on_own_control_plane,
};
use anyhow::{bail, ensure};

/// etcd, told by a shell to listen where a program of ours would.
fn etcd() -> anyhow::Result<Program> {
    let etcd = Binaries::provide()?.program(Component::Etcd.program())?;
    let script = r#"test "$1" = --listen && exec "$ETCD" --data-dir=data \
        --listen-client-urls="http://$2" --advertise-client-urls="http://$2" \
        --listen-peer-urls=http://127.0.0.1:0"#;
    let etcd = etcd.display().to_string();
    let environment = [("ETCD", etcd.as_str())];
    Program::start_listening("/bin/sh".as_ref(), &["-c", script, "etcd"], &environment)
}

#[tokio::test]
async fn a_program_is_asked_on_its_own_port_until_it_ends_and_again_after_a_restart() -> TestResult
{
    let (program, other) = (etcd()?, etcd()?);
    assert_ne!(program.address()?, other.address()?);
    program.await_ready().await?;
    other.await_ready().await?;
    let (status, body) = program.get("/health").await?;
    ensure!(status == 200 && body.contains("\"health\":\"true\""), "{status} {body}");
    assert_eq!(program.get("/atlantis").await?.0, 404);

    program.kill()?;
    assert!(program.get("/readyz").await.is_err(), "a dead program answered");
    program.start_again()?;
    program.await_ready().await?;
    assert!(program.stop().await.is_ok());
    Ok(())
}

#[test]
fn the_log_of_a_program_outlives_it_when_its_test_fails_and_goes_when_it_passes() -> TestResult {
    for fails in [true, false] {
        let mut folder = None;
        let outcome = on_own_control_plane(&ControlPlaneOptions::api_only(), async |_| {
            let script = ["-c", "echo sails are torn"];
            let program = Program::start("/bin/sh".as_ref(), &script, &[])?;
            program.await_log("torn").await?;
            folder = Some(program.folder().to_owned());
            if fails {
                bail!("a failure on purpose");
            }
            Ok(())
        });
        assert_eq!(outcome.is_err(), fails);
        let folder = folder.expect("it began");
        assert_eq!(folder.exists(), fails, "{}", folder.display());
        if fails {
            assert!(
                std::fs::read_to_string(folder.join("program.log"))?.contains("sails are torn")
            );
            std::fs::remove_dir_all(folder)?;
        }
    }
    Ok(())
}
