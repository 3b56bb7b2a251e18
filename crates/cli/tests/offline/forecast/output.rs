//! The destination of the output: a file, and a pipe that the reader closes.

use crate::forecast::without_its_making;
use std::fs;
use std::process::{Command, Stdio};

use crate::forecast::running::{
    BROKEN, NODES, PRESENT, SHOP, command, empty_folder, folder_with, forecast,
};
use crate::running::Ran;

#[test]
fn a_file_is_written_completely_and_replaces_the_previous_file() {
    let folder = folder_with("out", &[("a.yaml", SHOP)]);
    let out = empty_folder("out-written").join("out.json");
    fs::write(&out, "old").unwrap();
    let permissions = fs::metadata(&out).unwrap().permissions();
    let ran = forecast(&folder, &["-o", "json", "--out", out.to_str().unwrap()]).ended(0);
    assert_eq!(ran.stdout, "");
    assert_eq!(fs::read_to_string(&out).unwrap(), forecast(&folder, &["-o", "json"]).stdout);
    assert_eq!(fs::read_dir(out.parent().unwrap()).unwrap().count(), 1);
    assert_eq!(
        fs::metadata(&out).unwrap().permissions(),
        permissions,
        "the file is not readable for others"
    );
    forecast(&folder, &["--out", "no/such/folder/out.txt"]).ended(2);
}

#[test]
#[cfg(unix)]
fn a_file_that_is_replaced_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = folder_with("out-permissions", &[("a.yaml", SHOP)]);
    let out = folder.join("out.json");
    for mode in [0o600, 0o640, 0o664] {
        fs::write(&out, "old").unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(mode)).unwrap();
        forecast(&folder, &["-o", "json", "--out", "out.json"]).ended(0);
        assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, mode);
        assert_ne!(fs::read_to_string(&out).unwrap(), "old");
    }
}

#[test]
fn text_in_a_file_is_the_same_as_in_a_pipe() {
    let folder = folder_with("out-text", &[("a.yaml", SHOP)]);
    let out = empty_folder("out-text-written").join("out.txt");
    forecast(&folder, &["--out", out.to_str().unwrap()]).ended(0);
    assert_eq!(fs::read_to_string(&out).unwrap(), forecast(&folder, &[]).stdout);
}

#[test]
fn a_hyphen_as_the_file_means_standard_output() {
    let folder = folder_with("out-hyphen", &[("a.yaml", SHOP)]);
    for output in ["text", "json", "svg", "html"] {
        let printed = forecast(&folder, &["-o", output]);
        let to_hyphen = forecast(&folder, &["-o", output, "--out", "-"]);
        let [one, other] = [&to_hyphen, &printed].map(|it| without_its_making(&it.stdout));
        assert_eq!(one, other);
        assert_eq!(to_hyphen.stderr, printed.stderr);
    }
    assert!(!folder.join("-").exists());
}

#[test]
fn a_file_has_no_escapes_even_if_colors_are_requested() {
    let folder = folder_with("out-colour", &[("a.yaml", SHOP), ("b.yaml", BROKEN)]);
    // Standard output has escapes with this option.
    forecast(&folder, &["--color", "always"]).assert_stdout(&["\u{1b}"]);
    forecast(&folder, &["--color", "always", "-o", "text", "--out", "out.txt"]);
    let written = fs::read_to_string(folder.join("out.txt")).unwrap();
    assert_eq!(written, forecast(&folder, &[]).stdout);
}

#[test]
#[cfg(unix)]
fn links_and_pipes_are_not_replaced() {
    let folder = folder_with("out-link", &[("a.yaml", SHOP)]);
    let printed = forecast(&folder, &[]);
    fs::write(folder.join("there.txt"), "old").unwrap();
    std::os::unix::fs::symlink("there.txt", folder.join("link.txt")).unwrap();
    forecast(&folder, &["--out", "link.txt"]);
    assert!(folder.join("link.txt").is_symlink());
    assert_eq!(fs::read_to_string(folder.join("there.txt")).unwrap(), printed.stdout);
    // Standard output is a pipe here.
    let piped = forecast(&folder, &["--out", "/dev/stdout"]);
    assert_eq!(piped.stdout, printed.stdout);
}

#[test]
#[cfg(unix)]
fn an_interruption_leaves_no_half_file_and_keeps_the_old_one() {
    // Many targets with a change a minute for a century take longer than any test.
    let many: Vec<String> = (0..50)
        .map(|number| {
            let rules =
                SHOP.replace("0 8 * * *", "*/2 * * * *").replace("0 20 * * *", "1-59/2 * * * *");
            rules.replace("name: shop", &format!("name: shop-{number}"))
        })
        .collect();
    let folder = folder_with("interrupt", &[("a.yaml", &many.join("---"))]);
    fs::write(folder.join("out.json"), "old").unwrap();
    let arguments = ["forecast", "-f", "a.yaml", "--from", PRESENT, "--for", "3y", "-o", "json"];
    let mut command = command(&folder, &[&arguments[..], &["--out", "out.json"]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let unfinished = || {
        fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .any(|path| path.to_string_lossy().ends_with(".unfinished"))
    };
    while !unfinished() {
        assert_eq!(child.try_wait().unwrap(), None, "the program ended without a signal");
        std::thread::yield_now();
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    Ran::from_output(&child.wait_with_output().unwrap()).ended(130);
    assert_eq!(fs::read_to_string(folder.join("out.json")).unwrap(), "old");
    assert!(!unfinished());
}

#[test]
fn a_reader_may_close_the_pipe_early() {
    let one = folder_with("pipe", &[("a.yaml", SHOP)]);
    let several = folder_with("pipe-of-several", &[("a.yaml", SHOP), ("b.yaml", NODES)]);
    for (folder, arguments) in [
        (&one, &["forecast", "-f", ".", "--for", "50y", "-o", "json"][..]),
        (&one, &["forecast", "-f", ".", "--for", "50y", "-o", "svg"]),
        (&one, &["next", "-f", ".", "--for", "50y", "-o", "json"]),
        (&several, &["forecast", "-f", ".", "--for", "50y", "-o", "json"]),
        (&several, &["forecast", "-f", ".", "--for", "50y", "-o", "html"]),
    ] {
        let mut command = command(folder, arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        Ran::from_output(&child.wait_with_output().unwrap()).ended(0);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let folder = folder_with("full", &[("a.yaml", SHOP), ("b.yaml", NODES)]);
    for output in ["text", "json", "svg", "html"] {
        let arguments = ["forecast", "-f", ".", "--for", "10y", "-o", output];
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(&folder, &arguments).stdout(full).output().unwrap();
        Ran::from_output(&output).ended(2).assert_stderr(&["No space left on device"]);
    }
}
