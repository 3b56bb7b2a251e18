//! The page of `almanac forecast -o html` in a real browser: it opens from a file, shows its
//! reasons, zooms to an hour, follows the colour scheme, requests nothing from a network and logs
//! no errors.
//!
//! Chromium is driven over its own debugging protocol through two pipes. Where it is missing and
//! apt-get may install it, it is installed; elsewhere the test fails and says what to do.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

#[path = "browser_forecast/chromium.rs"]
mod chromium;
mod installing;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::chromium::Page;

/// The page of the examples, written to a file.
fn page_file(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = folder.join("forecast.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(root).args(["forecast", "-f", "examples", "-o", "html"]);
    command.args(["--from", "2026-11-20T12:00:00Z", "--for", "9d", "--zone", "Europe/Berlin"]);
    let output = command.arg("--out").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

#[test]
fn the_page_shows_reasons_zooms_and_follows_the_colour_scheme() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser_forecast");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let url = format!("file://{}", page_file(&folder).display());
    let mut page = Page::open(&folder, &url);

    let series =
        page.evaluate("JSON.parse(document.getElementById('forecast').textContent).series.length");
    let rows = page.evaluate("document.querySelectorAll('section').length");
    assert_eq!(rows, series);

    hovering_tells_the_reason(&mut page);
    for scheme in ["light", "dark"] {
        page.prefer(scheme);
        page.screenshot(&folder.join(format!("{scheme}.png")));
    }
    colours_follow_the_reader(&mut page);
    zooming_ends_at_an_hour(&mut page);
    the_filter_leaves_what_is_named(&mut page);

    assert_eq!(page.complaints(), [""; 0], "complaints of the browser");
    let foreign: Vec<_> =
        page.requests().into_iter().filter(|it| *it != url && !it.starts_with("data:")).collect();
    assert!(foreign.is_empty(), "the page asks for {foreign:?}");
}

/// A page whose forecast is another one, of the day it shows in UTC.
fn page_with(folder: &Path, forecast: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(root).args(["forecast", "-f", "examples", "-o", "html", "--zone", "UTC"]);
    let output = command.args(["--from", "2026-03-02", "--for", "1d"]).output().unwrap();
    let page = String::from_utf8(output.stdout).unwrap();
    let (before, rest) = page.split_once("id=\"forecast\">").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    let forecast = forecast.replace('<', "\\u003c");
    let path = folder.join("forecast.html");
    fs::write(&path, format!("{before}id=\"forecast\">{forecast}</script>{after}")).unwrap();
    path
}

/// The page with what the tests of `-o json` have written down.
fn page_of(name: &str, forecast: &str) -> Page {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser_forecast_{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let url = format!("file://{}", page_with(&folder, forecast).display());
    let mut page = Page::open(&folder, &url);
    page.screenshot(&folder.join("light.png"));
    page
}

#[test]
fn the_page_draws_values_of_every_kind() {
    let mut page = page_of("kinds", include_str!("forecast/expected/kinds.json"));
    // For each picture its rectangles, and what is written at them.
    let drawn = |name: &str, what: &str| {
        format!(
            "[...[...document.querySelectorAll('main svg')].find((it) => \
             it.getAttribute('aria-label').includes({name:?})).querySelectorAll('{what}')]"
        )
    };
    let labels = |page: &mut Page, name: &str| {
        let written = drawn(name, "text:not(.label)");
        let written = page.evaluate(&format!("{written}.map((it) => it.textContent)"));
        serde_json::from_value::<Vec<String>>(written).unwrap()
    };
    assert_eq!(labels(&mut page, "Deployment"), ["?", "10", "3"]);
    let texts = ["unknown", "best-effort", "gu…ed", "burstable", "best-effort"];
    assert_eq!(labels(&mut page, "Pod"), texts);
    let names = ["a-cluster-with-a-long-name", "east", "west", "none", "unknown"];
    assert_eq!(labels(&mut page, "Placement default/shop"), names);
    assert_eq!(labels(&mut page, "Placement default/wide").len(), 20);
    assert_eq!(labels(&mut page, "value on-demand"), ["?", "5", "5", "12", "none"]);
    assert_eq!(labels(&mut page, "value spot"), ["?", "3", "6", "none", "none"]);
    let shapes = |name| format!("{}.length", drawn(name, "rect"));
    assert_eq!(page.evaluate(&shapes("Placement default/shop")), 7);
    assert_eq!(page.evaluate(&shapes("value spot")), 5);
    assert_eq!(page.complaints(), [""; 0], "complaints of the browser");
}

/// A `CronJob` that starts a Job at some minutes of the day.
fn starts(name: &str, minutes: impl Iterator<Item = u32>) -> Vec<serde_json::Value> {
    let start = |minute: u32| {
        let at = format!("2026-03-02T{:02}:{:02}:00Z", minute / 60, minute % 60);
        let object = serde_json::json!({"kind": "CronJob", "namespace": "default", "name": name});
        serde_json::json!({"at": at, "object": object, "what": "starts"})
    };
    minutes.map(start).collect()
}

#[test]
fn the_page_draws_a_mark_for_each_start_of_a_cron_job() {
    let often = starts("often", 0..24 * 60);
    let occurrences = [starts("backup", [150, 870].into_iter()), often].concat();
    let forecast = serde_json::json!({
        "from": "2026-03-02T00:00:00Z", "to": "2026-03-03T00:00:00Z", "tzdata": "2026e",
        "series": [], "occurrences": occurrences, "clockChanges": [], "assumptions": [], "findings": [],
    });
    let mut page = page_of("cron_jobs", &forecast.to_string());
    let marks = |name: &str| {
        format!(
            "document.querySelectorAll('svg[aria-label=\"CronJob default/{name} starts\"] rect')"
        )
    };
    let shown = |page: &mut Page, name: &str, what: &str| {
        page.evaluate(&format!("[...{}].map((it) => it.stretch.{what})", marks(name)))
    };
    assert_eq!(
        shown(&mut page, "backup", "shown"),
        serde_json::json!(["starts a Job", "starts a Job"])
    );
    assert_eq!(shown(&mut page, "often", "shown"), serde_json::json!(["starts 1440 Jobs"]));
    assert_eq!(page.complaints(), [""; 0], "complaints of the browser");
}

#[test]
fn hostile_names_are_escaped_and_stay_on_the_page() {
    let mut page = page_of("hostile", include_str!("forecast/expected/hostile.json"));
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })");
    assert_eq!(page.evaluate("document.querySelectorAll('main script').length"), 0);
    assert_eq!(page.evaluate("document.querySelectorAll('main section').length"), 3);
    let said = page.evaluate("document.querySelector('h3 ~ h3').textContent");
    assert_eq!(said, "a \"b\" & 'c' \\ \u{1}");
    assert_eq!(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    assert_eq!(page.complaints(), [""; 0], "complaints of the browser");
}

#[test]
fn pods_that_always_agree_are_one_lane_of_the_page() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser_forecast_levels");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let pod = |number| {
        let level = if number == 36 { "2" } else { "1" };
        let metadata = format!(
            "{{name: batch-{number:02}, labels: {{app: batch}}, annotations: {{volcano.sh/qos-level: '{level}'}}}}"
        );
        format!("---\napiVersion: v1\nkind: Pod\nmetadata: {metadata}\n")
    };
    let pods: Vec<String> = (0..37).map(pod).collect();
    fs::write(folder.join("levels.yaml"), format!("{LEVELS}{}", pods.concat())).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_almanac"));
    command.current_dir(&folder).args(["forecast", "-f", ".", "-o", "html", "--out", "page.html"]);
    let output = command.args(["--from", "2026-03-02", "--for", "1d"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut page = Page::open(&folder, &format!("file://{}/page.html", folder.display()));
    let series = "JSON.parse(document.getElementById('forecast').textContent).series.length";
    assert_eq!(page.evaluate(series), 37, "the page has what programs get");
    let titles = "[...document.querySelectorAll('main h2')].map((it) => it.textContent).join('; ')";
    let lanes = "36 pods of app=batch in default qosLevel; Pod default/batch-36 qosLevel";
    assert_eq!(page.evaluate(titles), lanes);
    let labels = "[...document.querySelectorAll('main svg')[0].querySelectorAll('text:not(.label)')]\
                  .map((it) => it.textContent).join(' ')";
    assert_eq!(page.evaluate(labels), "-1 1 -1");
    page.evaluate("document.querySelectorAll('details')[1].open = true");
    let names = page.evaluate("document.querySelectorAll('details')[1].textContent");
    assert!(names.as_str().unwrap().ends_with("batch-34, batch-35"), "{names}");
    page.screenshot(&folder.join("light.png"));
    // A pod is found by its name though it is not drawn by itself.
    page.evaluate(
        "(() => { const it = document.getElementById('filter'); it.value = 'batch-07'; \
         it.dispatchEvent(new Event('input')); })()",
    );
    let left = "[...document.querySelectorAll('section:not([hidden]) h2')].map((it) => it.textContent).join('; ')";
    assert_eq!(page.evaluate(left), "36 pods of app=batch in default qosLevel");
    assert_eq!(page.complaints(), [""; 0], "complaints of the browser");
}

const LEVELS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-config, namespace: volcano-system}
data:
  config.yaml: |
    globalConfig:
      timeBasedQoSPolicies:
      - {name: night, startTime: '22:00', endTime: '08:00', selector: {matchLabels: {app: batch}}, targetQoSLevel: -1}
";

fn hovering_tells_the_reason(page: &mut Page) {
    let hidden = page.evaluate("document.getElementById('tip').hidden");
    assert_eq!(hidden, true);
    let place = "(() => { const shop = [...document.querySelectorAll('main svg')].find((it) => \
                 /Deployment default.shop /.test(it.getAttribute('aria-label') + ' ')); \
                 shop.scrollIntoView({behavior: 'instant', block: 'center'}); \
                 const it = shop.querySelector('rect').getBoundingClientRect(); \
                 return [it.x + it.width / 2, it.y + it.height / 2]; })()";
    let place = page.evaluate(place);
    page.move_pointer(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let tip = page.evaluate("document.getElementById('tip').innerText");
    let tip = tip.as_str().unwrap();
    assert!(tip.contains("at 11:00 every day (Europe/Berlin): fired"), "{tip}");
    assert!(tip.contains("CronFederatedHPA default/shop-morning-peak after-the-rush"), "{tip}");
    assert!(tip.contains("Fri 2026-11-20 13:00 +01:00 to Sat 2026-11-21 08:00 +01:00"), "{tip}");
}

fn colours_follow_the_reader(page: &mut Page) {
    let background = "getComputedStyle(document.body).backgroundColor";
    page.prefer("light");
    let light = page.evaluate(background);
    page.prefer("dark");
    assert_ne!(page.evaluate(background), light);
}

fn zooming_ends_at_an_hour(page: &mut Page) {
    for _ in 0..12 {
        page.evaluate("document.getElementById('closer').click()");
    }
    let span = page.evaluate("document.getElementById('span').textContent");
    // The middle of the nine days.
    assert_eq!(span, "Wed 2026-11-25 00:30 +01:00 to Wed 2026-11-25 01:30 +01:00 (Europe/Berlin)");
    page.evaluate("document.getElementById('whole').click()");
    let span = page.evaluate("document.getElementById('span').textContent");
    assert_eq!(span, "Fri 2026-11-20 13:00 +01:00 to Sun 2026-11-29 13:00 +01:00 (Europe/Berlin)");
}

fn the_filter_leaves_what_is_named(page: &mut Page) {
    page.evaluate(
        "(() => { const it = document.getElementById('filter'); it.value = 'OFFICE-HOURS'; \
         it.dispatchEvent(new Event('input')); })()",
    );
    let left = page.evaluate("document.querySelectorAll('section:not([hidden])').length");
    assert_eq!(left, 1);
}
