//! Every command reports in every output the effect of a clock change on a rule, in every time zone.

use std::path::Path;

use serde_json::Value;

use crate::forecast::running::{almanac, folder_with, in_one_line};
use crate::running::{list, word};

const SHOP: &str = include_str!("../../../../../docs/half-past-two.yaml");
const NIGHT: &str = "the firing at 02:30 is moved to 03:00";
const RHYTHM: &str = "3 firings are skipped";

/// The output of a command for the days around the change, in one of its forms.
fn printed(folder: &Path, command: &[&str], further: &[&str]) -> String {
    let printed = almanac(folder, &[command, further].concat()).stdout;
    // Text is wrapped at the width of the terminal or the picture.
    let printed = printed.replace("</text>", "");
    let words = printed.lines().map(|line| match line.split_once("\">") {
        Some((tag, words)) if tag.starts_with("<text") => words,
        _ => line,
    });
    in_one_line(&words.collect::<Vec<_>>().join("\n"))
}

const FORECAST: &[&str] = &["forecast", "-f", ".", "--from", "2027-03-13", "--for", "3d"];
const NEXT: &[&str] = &["next", "-f", ".", "--from", "2027-03-13", "--for", "3d"];
const EXPLAIN: &[&str] = &["explain", "-f", ".", "deployment/shop", "--at", "2027-03-14T12:00Z"];
const VALIDATE: &[&str] = &["validate", ".", "--from", "2026-11-21"];

#[test]
fn every_command_reports_a_skipped_hour_in_every_output_and_display_zone() {
    let folder = folder_with("clock-changes", &[("shop.yaml", SHOP)]);
    let json: &[&str] = &["-o", "json"];
    for (command, outputs) in [
        (FORECAST, &["text", "json", "svg", "html"][..]),
        (NEXT, &["text", "json"]),
        (EXPLAIN, &["text", "json"]),
    ] {
        for output in outputs {
            for zone in ["UTC", "Asia/Tokyo", "America/New_York"] {
                let report = printed(&folder, command, &["-o", output, "--zone", zone]);
                assert!(
                    report.contains(NIGHT) && report.contains(RHYTHM),
                    "{command:?} {output}: {report}"
                );
                assert!(report.contains("America/New_York"), "{report}");
            }
        }
    }
    for further in [&[][..], json] {
        let report = printed(&folder, VALIDATE, further);
        assert!(report.contains(NIGHT) && report.contains(RHYTHM), "{report}");
        assert_eq!(report.matches("clock-change").count(), 2, "{report}");
    }
}

#[test]
fn days_without_a_clock_change_have_no_note() {
    let folder = folder_with("no-clock-changes", &[("shop.yaml", SHOP)]);
    for command in [FORECAST, NEXT] {
        let report = printed(
            &folder,
            &[&command[..3], &["--from", "2027-03-10", "--for", "3d"]].concat(),
            &[],
        );
        assert!(report.contains("night") && !report.contains("clock"), "{report}");
    }
}

#[test]
fn next_marks_moved_items_and_reports_skipped_ones() {
    let folder = folder_with("clock-changes-next", &[("shop.yaml", SHOP)]);
    let printed = almanac(&folder, &[NEXT, &["-o", "json"]].concat()).json();
    let moved: Vec<&Value> =
        list(&printed["items"]).iter().filter(|it| it.get("note").is_some()).collect();
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert_eq!((word(&moved[0]["at"]), word(&moved[0]["rule"])), ("2027-03-14T07:00:00Z", "night"));
    let changes = list(&printed["clockChanges"]).iter();
    let rules: Vec<&str> = changes.map(|it| word(&it["rule"])).collect();
    assert_eq!(rules, ["night", "rhythm"]);
    // Only clock changes up to the last listed event.
    let first = almanac(&folder, &[NEXT, &["-o", "json", "--count", "1"]].concat()).json();
    assert_eq!(first["clockChanges"], Value::Array(Vec::new()));
}
