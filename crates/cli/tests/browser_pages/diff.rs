//! The page of `almanac diff -o html` in a real browser. The page opens from a file and has a row for each change.
//! Hostile names appear unchanged. The page fits, follows the color scheme, and requests nothing from a network.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::chromium::Page;

/// Policies of shops, and one more policy. The first has a rule for each hour.
fn policies(more: u32) -> String {
    let mut all = String::new();
    for shop in 0..7 {
        write!(
            all,
            "---\napiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
             metadata: {{name: hours-{shop}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop-{shop}}}\n  rules:\n"
        )
        .unwrap();
        let hours = if shop == 0 { 24 } else { 2 };
        for hour in 0..hours {
            let to = if shop == 1 { 9 - more } else { hour + 2 * shop + 1 + more };
            writeln!(
                all,
                "  - {{name: \"<script>alert({hour})</script>\", schedule: '0 {hour} * * *', \
                 targetReplicas: {to}}}"
            )
            .unwrap();
        }
    }
    all
}

fn page_file(folder: &Path) -> PathBuf {
    fs::write(folder.join("old.yaml"), policies(0)).unwrap();
    // The last policy becomes unusable.
    fs::write(
        folder.join("new.yaml"),
        policies(1) + "  - {name: broken, schedule: never, targetReplicas: 7}\n",
    )
    .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(folder).args(["diff", "old.yaml", "new.yaml", "-o", "html"]);
    command.args([
        "--from",
        "2026-11-20T12:00:00Z",
        "--zone",
        "Europe/Berlin",
        "--fail-on",
        "never",
    ]);
    let path = folder.join("diff.html");
    let output = command.arg("--out").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

#[test]
fn the_page_shows_every_change_verbatim_and_follows_the_color_scheme() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser_diff");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let url = format!("file://{}", page_file(&folder).display());
    let mut page = Page::open(&folder, &url);

    let text = |page: &mut Page, selector: &str| {
        let content = page.evaluate(&format!("document.querySelector('{selector}').textContent"));
        content.as_str().unwrap().to_owned()
    };
    assert_eq!(text(&mut page, "h1"), "old.yaml → new.yaml");
    let incomplete = text(&mut page, ".incomplete");
    assert!(incomplete.contains("hours-6 cannot be used as written"), "{incomplete}");
    assert!(text(&mut page, ".summary").starts_with("6 of 6 values change and 1 is not compared"));
    let count = |page: &mut Page, selector: &str| {
        page.evaluate(&format!("document.querySelectorAll('{selector}').length")).as_u64().unwrap()
    };
    assert_eq!(count(&mut page, "li b"), 6);
    assert_eq!(count(&mut page, "tbody"), 6);
    assert_eq!(count(&mut page, "script"), 0);
    let set_by = text(&mut page, "tbody td:last-child");
    assert!(set_by.contains("<script>alert(12)</script>"), "{set_by}");
    let whole = "[...document.querySelectorAll('tbody tr')].every((row) => Math.abs( \
                 row.lastElementChild.getBoundingClientRect().right - \
                 document.querySelector('table').getBoundingClientRect().right) < 2)";
    assert_eq!(page.evaluate(whole), true, "every row ends where the table does");
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(page.evaluate(fits), true, "the page is no wider than the window");

    let color =
        |selector: &str| format!("getComputedStyle(document.querySelector('{selector}')).color");
    let mut colors = Vec::new();
    for scheme in ["light", "dark"] {
        page.prefer(scheme);
        page.screenshot(&folder.join(format!("{scheme}.png")));
        let all =
            [".more", ".less", ".incomplete", "td"].map(|selector| page.evaluate(&color(selector)));
        assert!(all[..3].iter().all(|it| *it != all[3]), "{scheme}: {all:?}");
        assert_ne!(all[0], all[1], "{scheme}");
        colors.push(all);
    }
    assert!(colors[0].iter().zip(&colors[1]).all(|(light, dark)| light != dark), "{colors:?}");
    assert_eq!(page.complaints(), [""; 0], "complaints of the browser");
    let foreign: Vec<_> =
        page.requests().into_iter().filter(|it| *it != url && !it.starts_with("data:")).collect();
    assert!(foreign.is_empty(), "the page requests {foreign:?}");
}
