//! The output of `almanac forecast`, `explain` and `next` for users and scripts.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate the expected output.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod autoscalers;
mod beginnings;
mod clock_changes;
mod formats;
mod hostile_levels;
mod known;
mod level_templates;
mod levels;
mod output;
mod own_namespace;
mod placements;
pub(crate) mod running;
mod sizes;
mod story;
mod units;
mod units_explained;
mod units_over_time;
mod units_reasons;

use std::path::Path;

use running::{BROKEN, NIGHT, NODES, PRESENT, SHOP, almanac, command, folder_with, forecast};
use serde_json::{Value, json};

use crate::running::{Ran, list, word};

/// Compares the output with a golden file of forecasts.
#[track_caller]
fn assert_written_down(name: &str, ran: &Ran) {
    crate::running::assert_written_down(Path::new("forecast/expected").join(name), &ran.stdout);
}

#[test]
fn each_output_matches_its_golden_file() {
    let folder = folder_with("golden", &[("shop.yaml", SHOP), ("nodes.yaml", NODES)]);
    assert_written_down("forecast.txt", &forecast(&folder, &["--for", "2d"]));
    assert_written_down("forecast.json", &forecast(&folder, &["--for", "2d", "-o", "json"]));
    assert_written_down("forecast.svg", &forecast(&folder, &["--for", "2d", "-o", "svg"]));
    let explain = ["explain", "-f", ".", "cronfhpa/shop-hours", "--at", PRESENT];
    assert_written_down("explain.txt", &almanac(&folder, &explain));
    let explain = [&explain[..], &["-o", "json"]].concat();
    assert_written_down("explain.json", &almanac(&folder, &explain));
    let next = ["next", "-f", ".", "--from", PRESENT, "--count", "5", "--zone", "Asia/Tokyo"];
    assert_written_down("next.txt", &almanac(&folder, &next));
    let next = [&next[..], &["-o", "json"]].concat();
    assert_written_down("next.json", &almanac(&folder, &next));
}

#[test]
fn the_picture_in_the_readme_is_the_actual_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = ["forecast", "-f", "docs/weekend.yaml", "--from", "2026-11-26", "--for", "7d"];
    let output = almanac(&root, &[&example[..], &["-o", "svg"]].concat());
    assert_written_down("../../../../../../docs/forecast.svg", &output);
}

#[test]
fn the_order_of_the_files_makes_no_difference() {
    let folder = folder_with("order", &[("a.yaml", SHOP), ("b.yaml", NIGHT), ("c.yaml", NODES)]);
    for output in ["text", "json", "svg", "html"] {
        let ordered = |files: [&str; 3]| {
            let [one, two, three] = files;
            let names = ["forecast", "-f", one, "-f", two, "-f", three];
            let arguments = [&names[..], &["--from", PRESENT, "-o", output]].concat();
            without_its_making(&almanac(&folder, &arguments).stdout)
        };
        let first = ordered(["a.yaml", "b.yaml", "c.yaml"]);
        assert!(first.len() > 500);
        assert_eq!(first, ordered(["c.yaml", "b.yaml", "a.yaml"]), "{output}");
        assert_eq!(first, ordered(["b.yaml", "c.yaml", "a.yaml"]), "{output}");
    }
    let one = folder_with("order-in-file", &[("a.yaml", &format!("{SHOP}---{NODES}"))]);
    let other = folder_with("other-order-in-file", &[("a.yaml", &format!("{NODES}---{SHOP}"))]);
    let [one, other] = [one, other].map(|folder| forecast(&folder, &["-o", "json"]).stdout);
    assert_eq!(one, other);
}

/// A page without its creation time and command, which differ in every page.
fn without_its_making(page: &str) -> String {
    let about = page.split_once("id=\"about\">").and_then(|(before, rest)| {
        let (_, after) = rest.split_once("</script>")?;
        Some(format!("{before}{after}"))
    });
    about.unwrap_or_else(|| page.to_owned())
}

/// Every `data-…` of the steps in an SVG.
fn steps(svg: &str) -> Vec<[String; 3]> {
    let value = |step: &str, name: &str| {
        let (_, rest) = step.split_once(&format!("{name}=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let steps = svg.lines().filter(|line| line.contains("data-from"));
    steps.map(|step| ["data-from", "data-to", "data-value"].map(|it| value(step, it))).collect()
}

#[test]
fn json_and_svg_agree() {
    let files = [("a.yaml", SHOP), ("b.yaml", NIGHT), ("c.yaml", NODES)];
    let folder = folder_with("story", &files);
    let report = forecast(&folder, &["-o", "json"]).json();
    let svg = forecast(&folder, &["-o", "svg"]).stdout;
    let segments: Vec<&Value> =
        list(&report["series"]).iter().flat_map(|series| list(&series["segments"])).collect();
    let steps = steps(&svg);
    assert!(segments.len() > 20);
    assert_eq!(steps.len(), segments.len());
    for (step, segment) in steps.iter().zip(segments) {
        let value = segment["value"].as_u64().map_or("unknown".to_owned(), |it| it.to_string());
        let text = |field: &str| word(&segment[field]);
        assert_eq!(*step, [text("from"), text("to"), &value]);
        let reason = text("reason").replace('<', "&lt;").replace('>', "&gt;");
        assert!(svg.contains(&reason), "{reason}");
    }
}

#[test]
fn segments_are_adjacent_and_cover_the_period() {
    let folder = folder_with("adjacent", &[("a.yaml", SHOP), ("c.yaml", NODES)]);
    let report = forecast(&folder, &["-o", "json", "--for", "30d"]).json();
    assert_eq!(report["schema"], "almanac/forecast/v1");
    for series in list(&report["series"]) {
        let segments = list(&series["segments"]);
        assert_eq!(segments[0]["from"], report["from"]);
        assert_eq!(segments.last().unwrap()["to"], report["to"]);
        for pair in segments.windows(2) {
            assert_eq!(pair[0]["to"], pair[1]["from"]);
            let differ =
                pair[0]["value"] != pair[1]["value"] || pair[0]["policy"] != pair[1]["policy"];
            assert!(differ, "{pair:?}");
        }
    }
}

#[test]
fn two_policies_that_write_one_target_are_one_series_with_a_finding() {
    let folder = folder_with("contested", &[("a.yaml", SHOP), ("b.yaml", NIGHT)]);
    // The finding is a warning.
    let report = forecast(&folder, &["-o", "json"]).ended(0).json();
    let [series] = list(&report["series"]) else { panic!("{report:#}") };
    let segments = list(&series["segments"]).iter();
    let writers: Vec<&str> = segments.filter_map(|it| it["policy"]["name"].as_str()).collect();
    assert!(writers.contains(&"shop-hours") && writers.contains(&"night-watch"), "{writers:?}");
    assert_eq!(report["findings"][0]["code"], "two-writers");
    forecast(&folder, &[]).assert_stdout(&["set by 2 policies", "warning[two-writers]"]);
}

#[test]
fn valid_policies_are_forecast_and_invalid_ones_are_reported_with_their_location() {
    let folder = folder_with("broken", &[("broken.yaml", BROKEN), ("good.yaml", NODES)]);
    let report = forecast(&folder, &["-o", "json"]).ended(1).json();
    let names: Vec<_> = list(&report["series"]).iter().map(|it| &it["target"]["name"]).collect();
    assert_eq!(names, ["nodes"]);
    let finding = &report["findings"][0];
    assert_eq!((&finding["file"], &finding["line"]), (&"broken.yaml".into(), &8.into()));
    assert_eq!(finding["field"], "spec.rules[0].schedule");
    forecast(&folder, &[]).assert_stdout(&["broken.yaml:8:"]);
    forecast(&folder, &["-o", "svg"]).assert_stdout(&[" at broken.yaml:8:"]);
    // Programs that read a table do not read findings, so findings go to standard error.
    forecast(&folder, &["-o", "csv"]).assert_stderr(&["broken.yaml:8:"]);
}

#[test]
fn nothing_to_forecast_is_reported() {
    let nothing = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let folder = folder_with("nothing", &[("a.yaml", nothing)]);
    for output in ["text", "json", "svg", "html"] {
        // The command does not fail either.
        let output_text = forecast(&folder, &["-o", output]).ended(0).all();
        let is_json = output_text.starts_with('{');
        assert!(
            is_json || output_text.to_lowercase().contains("nothing to forecast"),
            "{output_text}"
        );
    }
    let report = forecast(&folder, &["-o", "json"]).json();
    assert_eq!(report["series"], Value::Array(Vec::new()));
}

#[test]
fn a_name_narrows_the_forecast_and_an_unmatched_name_is_an_error() {
    let folder = folder_with("narrow", &[("a.yaml", SHOP), ("c.yaml", NODES)]);
    for name in ["shop", "deploy/shop", "cronfhpa/shop-hours", "Deployment/default/shop"] {
        let report = forecast(&folder, &["-o", "json", name]).json();
        assert_eq!(list(&report["series"]).len(), 1, "{name}");
        assert_eq!(report["series"][0]["target"]["name"], "shop");
    }
    forecast(&folder, &["stop"]).ended(2).assert_stderr(&["CronFederatedHPA/default/shop-hours"]);
}

#[test]
fn an_assumption_is_reported_and_can_be_set() {
    let max = SHOP.replace("kind: Deployment", "kind: HorizontalPodAutoscaler");
    let max = max.replace("apps/v1", "autoscaling/v2");
    let max = max.replace("targetReplicas", "targetMaxReplicas");
    let folder = folder_with("assume", &[("a.yaml", &max)]);
    let report = forecast(&folder, &["-o", "json"]).json();
    let min = &report["series"][0];
    assert_eq!(
        (&min["field"], &min["segments"][0]["value"]),
        (&"minReplicas".into(), &Value::Null)
    );
    let output_text = report["assumptions"].to_string();
    assert!(output_text.contains("minReplicas of HorizontalPodAutoscaler"), "{output_text}");

    let report = forecast(&folder, &["-o", "json", "--assume", "hpa/shop.minReplicas=3"]).json();
    assert_eq!(report["series"][0]["segments"][0]["value"], 3);
    assert!(report["assumptions"].to_string().contains("as specified"));
    forecast(&folder, &["--assume", "shop.replicas=3"]).ended(2);
}

#[test]
fn an_invalid_period_is_an_error() {
    let folder = folder_with("period", &[("a.yaml", SHOP)]);
    for wrong in [["--to", "2026-11-19"], ["--for", "0d"], ["--for", "week"], ["--zone", "CST"]] {
        assert!(forecast(&folder, &wrong).ended(2).stderr.starts_with("error: "), "{wrong:?}");
    }
}

#[test]
fn the_timeline_is_as_wide_as_the_terminal() {
    let folder = folder_with("width", &[("a.yaml", SHOP), ("c.yaml", NODES)]);
    for width in [80, 200] {
        let mut command = command(&folder, &["forecast", "-f", ".", "--from", PRESENT]);
        let shown =
            Ran::from_output(&command.env("COLUMNS", width.to_string()).output().unwrap()).stdout;
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap();
        assert!((width - 2..=width).contains(&widest), "{widest} of {width}:\n{shown}");
    }
}

#[test]
fn a_target_is_explained_by_its_last_writer() {
    let folder = folder_with("explain", &[("a.yaml", SHOP), ("b.yaml", NIGHT)]);
    let explain = |at| {
        let arguments = ["explain", "-f", ".", "deployment/shop", "--at", at, "-o", "json"];
        almanac(&folder, &arguments).json()
    };
    let night = explain("2026-11-20T23:00:00Z");
    assert_eq!(night["policy"]["name"], "night-watch");
    assert_eq!(night["value"], 0);
    assert_eq!(night["reasons"][0]["verdict"], "won");
    assert_eq!(night["next"]["at"], "2026-11-21T07:00:00Z");
    let requests = list(&night["requests"]).iter();
    let requests = requests.map(|it| ["value", "since", "outcome"].map(|field| it[field].clone()));
    let expected = [
        [json!(0), json!("2026-11-20T22:00:00Z"), json!("won")],
        [json!(2), json!("2026-11-20T19:00:00Z"), json!("lost")],
    ];
    assert_eq!(requests.collect::<Vec<_>>(), expected);
    let text = ["explain", "-f", ".", "deployment/shop", "--at", "2026-11-20T23:00:00Z"];
    almanac(&folder, &text).assert_stdout(&[
        "Requests for replicas",
        "2; CronFederatedHPA.autoscaling.karmada.io default/night-watch set the field later",
    ]);
    let noon = explain(PRESENT);
    assert_eq!(noon["policy"]["name"], "shop-hours");
    assert_eq!(noon["value"], 10);
}

#[test]
fn a_text_lists_the_winner_the_own_policy_and_ten_more_requests() {
    let policy = |index: u32| {
        format!(
            "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
             metadata: {{name: p{index}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}\n  \
             rules:\n  - {{name: up, schedule: '0 8 * * *', targetReplicas: {index}}}\n---\n"
        )
    };
    let policies: String = (10..25).map(policy).collect();
    let folder = folder_with("many-requests", &[("a.yaml", &policies)]);
    let ran = almanac(&folder, &["explain", "-f", ".", "cronfhpa/p10", "--at", PRESENT]);
    ran.assert_stdout(&["and 3 more; list them with -o json"]);
    let outcomes =
        |outcome: &str| ran.stdout.lines().filter(move |line| line.contains(outcome)).count();
    assert_eq!(outcomes("✓ won       CronFederatedHPA"), 1, "{}", ran.stdout);
    assert_eq!(outcomes("✗ lost      CronFederatedHPA"), 11, "{}", ran.stdout);
}

#[test]
fn next_lists_events_in_order_of_time() {
    let folder = folder_with("next", &[("a.yaml", SHOP), ("b.yaml", NIGHT), ("c.yaml", NODES)]);
    let words = ["next", "-f", ".", "--from", PRESENT, "-o", "json", "--for", "2d"];
    let report = almanac(&folder, &words).json();
    let items = list(&report["items"]);
    let times: Vec<&str> = items.iter().map(|item| word(&item["at"])).collect();
    assert!(times.is_sorted() && times.len() == 10, "{times:?}");
    assert_eq!(items[0]["what"], "closes");
    assert_eq!((&items[0]["from"], &items[0]["to"]), (&5.into(), &1.into()));
}
