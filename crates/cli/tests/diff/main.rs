//! `almanac diff` as people and scripts see it.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate the expected output.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod places;
mod random;
mod revisions;
mod running;

use std::fs;
use std::path::Path;
use std::process::Output;

use running::{cron, diff, differences, json, shop, sides, text, weekend_shop};

const NODES: &str = "
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {name: nodes}
spec:
  schedule:
    timezone: Europe/Berlin
    defaultReplicas: 1
    behaviors:
    - {replicas: 5, start: {hours: 9}, end: {hours: 17}}
";

#[track_caller]
fn assert_written_down(name: &str, output: &Output) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diff/expected").join(name);
    let found = text(&output.stdout);
    if std::env::var_os("ALMANAC_UPDATE").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} differs; ALMANAC_UPDATE=1 writes it anew");
}

#[test]
fn each_output_matches_its_golden_file() {
    let gone = cron("night", "reports", &[("start", "0 22 * * *", 4), ("end", "0 4 * * *", 0)]);
    let (old, new) = (shop() + &gone, weekend_shop() + "---" + NODES);
    let folder = sides("golden", &[("shop.yaml", &old)], &[("shop.yaml", &new)]);
    for (output, file) in [
        ("text", "diff.txt"),
        ("json", "diff.json"),
        ("markdown", "diff.md"),
        ("html", "diff.html"),
    ] {
        assert_written_down(file, &diff(&folder, &["old", "new", "--for", "21d", "-o", output]));
    }
}

#[test]
fn a_weekend_is_told_as_one_stretch_of_every_week() {
    let usual = ("usual", "0 0 1 1 *", 2);
    let before = cron("shop-hours", "shop", &[usual]);
    let weekend = [usual, ("weekend", "0 17 * * 5", 40), ("week", "0 9 * * 1", 2)];
    let after = cron("shop-hours", "shop", &weekend);
    let folder = sides("weekend", &[("shop.yaml", &before)], &[("shop.yaml", &after)]);
    let said = text(&diff(&folder, &["old", "new"]).stdout);
    let expected = "Deployment.apps default/shop: 2 → 40 replicas Fri 17:00 to Mon 09:00, each week; \
                    +2,432 pod-hours a week; peak 2 → 40\n";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn equal_behaviour_that_is_written_differently_is_no_difference() {
    let split =
        cron("evening", "shop", &[("close", "0 20 * * 1-5", 2), ("close-late", "0 20 * * 6,0", 2)]);
    let morning = cron("a-morning", "shop", &[("wake", "0 8 * * *", 10)]);
    let folder = sides(
        "rewritten",
        &[("shop.yaml", &shop()), ("nodes.yaml", NODES)],
        &[("nodes/all.yml", NODES), ("moved/evening.yaml", &(split + &morning))],
    );
    let output = diff(&folder, &["old", "new", "--fail-on-change", "--for", "1y"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("Nothing changes: 2 values compared"));
}

#[test]
fn a_change_fails_only_if_that_is_wanted() {
    let folder = sides("fails", &[("shop.yaml", &shop())], &[("shop.yaml", &weekend_shop())]);
    assert_eq!(diff(&folder, &["old", "new"]).status.code(), Some(0));
    for output in ["text", "json", "markdown", "html"] {
        let changed = diff(&folder, &["old", "new", "--fail-on-change", "-o", output]);
        assert_eq!(changed.status.code(), Some(1), "{output}");
        let same = diff(&folder, &["new", "new", "--fail-on-change", "-o", output]);
        assert_eq!(same.status.code(), Some(0), "{output}");
    }
}

#[test]
fn a_name_narrows_both_sides_whoever_has_it() {
    let other = cron("other", "cart", &[("open", "0 9 * * *", 3)]);
    let renamed = shop().replace("0 20", "0 21").replace("shop-hours", "hours");
    let folder = sides(
        "narrowed",
        &[("a.yaml", &(shop() + &other))],
        &[("a.yaml", &(renamed + &other.replace(": 3", ": 4")))],
    );
    assert_eq!(differences(&folder).len(), 2);
    for name in ["deployment/shop", "hours", "shop-hours"] {
        let told = json(&diff(&folder, &["old", "new", "--only", name, "-o", "json"]));
        let [difference] = &**told["differences"].as_array().unwrap() else { panic!("{told}") };
        assert_eq!(difference["presence"], "both", "{name}");
        assert_eq!(difference["target"]["name"], "shop");
    }
    let unknown = diff(&folder, &["old", "new", "--only", "nobody"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn what_is_wrong_with_the_new_files_fails_and_what_is_mended_does_not() {
    let broken = shop().replace("0 8 * * *", "0 8 * *");
    let folder = sides("broken", &[("shop.yaml", &shop())], &[("shop.yaml", &broken)]);
    let output = diff(&folder, &["old", "new"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(said.contains("Findings in the new files, new:"), "{said}");
    assert!(said.contains("new/shop.yaml:7:"), "{said}");
    let mended = diff(&folder, &["new", "old"]);
    assert_eq!(mended.status.code(), Some(0));
    assert!(text(&mended.stdout).contains("Findings in the old files"));
    let told = json(&diff(&folder, &["old", "new", "-o", "json"]));
    assert_eq!(told["findings"][0]["side"], "new");
    assert_eq!(diff(&folder, &["old", "new", "--fail-on", "never"]).status.code(), Some(0));
}

#[test]
fn a_side_that_is_not_there_is_a_mistake_and_nothing_has_a_name() {
    let folder = sides("missing", &[("shop.yaml", &shop())], &[]);
    for paths in [["old", "nowhere"], ["nowhere", "old"]] {
        let output = diff(&folder, &paths);
        assert_eq!(output.status.code(), Some(2), "{paths:?}");
        let said = text(&output.stderr);
        assert!(said.contains("nowhere") && said.contains("name /dev/null"), "{said}");
    }
    let output = diff(&folder, &["old", "/dev/null", "-o", "json"]);
    assert_eq!(json(&output)["differences"][0]["presence"], "removed");
    assert_eq!(diff(&folder, &["old"]).status.code(), Some(2));
    let output = diff(&folder, &["-", "old"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("standard input is neither of the two"));
}

#[test]
fn what_another_program_renders_is_to_be_compared_as_files() {
    let kustomization = "resources: [shop.yaml]\nnamePrefix: a-\n";
    let files = [("shop.yaml", &*shop()), ("kustomization.yaml", kustomization)]
        .map(|(file, text)| (file, text.to_owned()));
    let files = files.each_ref().map(|(file, text)| (*file, text.as_str()));
    let folder = sides("rendered", &files, &files);
    let said = text(&diff(&folder, &["old", "new"]).stderr);
    assert!(said.contains("kubectl kustomize new > new.yaml"), "{said}");
    assert!(said.contains("almanac diff old.yaml new.yaml"), "{said}");
    assert!(!said.contains("diff -"), "{said}");
}

#[test]
fn a_score_that_only_one_side_has_can_be_assumed() {
    let cart = cron("cart", "cart", &[("open", "0 9 * * *", 3)]);
    let folder = sides("assumed", &[("a.yaml", &shop())], &[("a.yaml", &(shop() + &cart))]);
    let assume = |field| diff(&folder, &["old", "new", "--assume", field]);
    assert_eq!(assume("deployment/cart.replicas=7").status.code(), Some(0));
    assert_eq!(assume("deployment/shop.replicas=7").status.code(), Some(0));
    assert_eq!(assume("deployment/none.replicas=7").status.code(), Some(2));
}

#[test]
fn a_comment_has_no_more_than_fits_and_names_are_no_markup() {
    // A rule may have any name.
    let of = |replicas| {
        let rules = [("\"o|<b>@all\"", "0 8 * * *", replicas), ("close", "0 20 * * *", 2)];
        let one = |number: u32| cron(&format!("hours-{number}"), &format!("shop-{number}"), &rules);
        (0..1500).map(one).collect::<String>()
    };
    let folder = sides("many", &[("a.yaml", &of(10))], &[("a.yaml", &of(12))]);
    let said = text(&diff(&folder, &["old", "new", "-o", "markdown", "--for", "7d"]).stdout);
    assert!(said.len() < 65_536 && said.len() > 50_000, "{}", said.len());
    assert!(
        said.contains("more changed values are not shown here"),
        "{}",
        &said[said.len() - 300..]
    );
    assert!(!said.contains("<b>") && !said.contains("@all") && !said.contains("o|"), "{said}");
    let page = text(&diff(&folder, &["old", "new", "-o", "html", "--for", "7d"]).stdout);
    assert!(page.contains("hours-7 o|&lt;b&gt;@all") && !page.contains("<b>@all"));
    assert!(!page.contains("<script"));
}
