//! The page of `almanac forecast -o html` in a real browser, by mouse, by keyboard and by touch. The page opens from a
//! file at any size, and gives the reason for every value. It zooms, shows the same as `-o json`, requests nothing from
//! a network and logs no errors.
//!
//! The test drives Chromium over its debugging protocol through two pipes. If Chromium is missing, the test installs it
//! with apt-get. Without permission for apt-get, the test fails with the fix.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod axe;
mod kinds;
mod npm;
mod reading;
mod sizes;
mod standing_out;
mod styles;
mod twin;
mod types;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::chromium::Page;

/// An empty directory of a test.
fn folder_of(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser_forecast_{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The output of a forecast of files.
fn forecast(files: &Path, arguments: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(root).args(["forecast", "-f"]).arg(files).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A page in a browser, from a file.
fn open(folder: &Path, page: &str) -> Page {
    let path = folder.join("forecast.html");
    fs::write(&path, page).unwrap();
    Page::open(folder, &format!("file://{}", path.display()))
}

/// The page of the examples over these days, in Berlin.
fn page_of_examples(test: &str, days: &str) -> (PathBuf, Page) {
    let folder = folder_of(test);
    let period = ["--from", "2026-11-20T12:00:00Z", "--for", days, "--zone", "Europe/Berlin"];
    // The recorded positions of the rows belong to the other examples.
    let output = ["--exclude", "office-hours/", "-o", "html"];
    let page = forecast(Path::new("examples"), &[&period[..], &output].concat());
    let page = open(&folder, &page);
    (folder, page)
}

/// Checks that the page logs no problem, and requests only itself.
#[track_caller]
fn assert_quiet(page: &Page) {
    assert_eq!(page.complaints(), [""; 0], "complaints of the browser");
    let foreign: Vec<_> = page
        .requests()
        .into_iter()
        .filter(|it| !it.starts_with("file://") && !it.starts_with("data:"))
        .collect();
    assert!(foreign.is_empty(), "the page requests {foreign:?}");
}

/// The row with a name.
fn row(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('.row')].find((it) => it.querySelector('.title').firstChild.textContent === {name:?})"
    )
}

/// The point in the drawing of a row at this share of its width, from the left.
fn place_in(page: &mut Page, name: &str, share: f64) -> (f64, f64) {
    let row = row(name);
    page.evaluate(&format!("{row}.scrollIntoView({{behavior: 'instant', block: 'center'}})"));
    let place = page.evaluate(&format!(
        "(() => {{ const it = {row}.querySelector('svg').getBoundingClientRect(); \
         return [it.x + it.width * {share}, it.y + it.height / 2]; }})()"
    ));
    (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
}

fn text(page: &mut Page, id: &str) -> String {
    let text = page.evaluate(&format!("document.getElementById({id:?}).innerText"));
    text.as_str().unwrap().to_owned()
}
