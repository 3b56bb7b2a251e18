//! The output of `almanac diff` for users and scripts.
//!
//! Run with `ALMANAC_UPDATE=1` to regenerate the expected output.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod families;
mod incomplete;
mod jobs;
mod places;
mod random;
#[cfg(unix)]
mod rendering;
mod revisions;
mod running;

use std::fs;

use running::{almanac, cron, diff, differences, shop, sides, weekend_shop};

use crate::running::{assert_written_down, list};

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
        let ran = diff(&folder, &["old", "new", "--for", "21d", "-o", output]);
        assert_written_down(format!("diff/expected/{file}"), &ran.stdout);
    }
}

#[test]
fn a_weekend_is_one_stretch_of_every_week() {
    let usual = ("usual", "0 0 1 1 *", 2);
    let before = cron("shop-hours", "shop", &[usual]);
    let weekend = [usual, ("weekend", "0 17 * * 5", 40), ("week", "0 9 * * 1", 2)];
    let after = cron("shop-hours", "shop", &weekend);
    let folder = sides("weekend", &[("shop.yaml", &before)], &[("shop.yaml", &after)]);
    // The period starts on a Friday, so all weekends are complete.
    let friday = ["diff", "old", "new", "--from", "2026-11-26T23:00:00Z"];
    let expected = "Deployment.apps default/shop: 2 → 40 replicas Fri 17:00 to Mon 09:00, each week; \
                    +2,432 pod-hours a week; peak 2 → 40\n";
    almanac(&folder, &friday).assert_stdout(&[expected]);
}

#[test]
fn equal_behavior_that_is_written_differently_is_not_a_difference() {
    let split =
        cron("evening", "shop", &[("close", "0 20 * * 1-5", 2), ("close-late", "0 20 * * 6,0", 2)]);
    let morning = cron("a-morning", "shop", &[("wake", "0 8 * * *", 10)]);
    let folder = sides(
        "rewritten",
        &[("shop.yaml", &shop()), ("nodes.yaml", NODES)],
        &[("nodes/all.yml", NODES), ("moved/evening.yaml", &(split + &morning))],
    );
    let output = diff(&folder, &["old", "new", "--fail-on-change", "--for", "1y"]);
    output.ended(0).assert_stdout(&["Nothing changes: 2 values compared"]);
}

#[test]
fn a_change_fails_only_on_request() {
    let folder = sides("fails", &[("shop.yaml", &shop())], &[("shop.yaml", &weekend_shop())]);
    assert_eq!(diff(&folder, &["old", "new"]).code, Some(0));
    for output in ["text", "json", "markdown", "html"] {
        let changed = diff(&folder, &["old", "new", "--fail-on-change", "-o", output]);
        assert_eq!(changed.code, Some(1), "{output}");
        let same = diff(&folder, &["new", "new", "--fail-on-change", "-o", output]);
        assert_eq!(same.code, Some(0), "{output}");
    }
}

#[test]
fn a_name_narrows_both_sides_if_either_side_has_it() {
    let other = cron("other", "cart", &[("open", "0 9 * * *", 3)]);
    let renamed = shop().replace("0 20", "0 21").replace("shop-hours", "hours");
    let folder = sides(
        "narrowed",
        &[("a.yaml", &(shop() + &other))],
        &[("a.yaml", &(renamed + &other.replace(": 3", ": 4")))],
    );
    assert_eq!(differences(&folder).len(), 2);
    for name in ["deployment/shop", "hours", "shop-hours"] {
        let report = diff(&folder, &["old", "new", "--only", name, "-o", "json"]).json();
        let [difference] = list(&report["differences"]) else { panic!("{report}") };
        assert_eq!(difference["presence"], "both", "{name}");
        assert_eq!(difference["target"]["name"], "shop");
    }
    diff(&folder, &["old", "new", "--only", "nobody"]).ended(2).assert_stderr(&[
        "CronFederatedHPA/default/hours (only in the new files)",
        "CronFederatedHPA/default/other, ",
        "CronFederatedHPA/default/shop-hours (only in the old files)",
    ]);
}

#[test]
fn objects_with_the_same_change_are_listed_as_one() {
    let of = |replicas, name: &str| {
        let rules = [("open", "0 8 * * *", replicas), ("close", "0 20 * * *", 2)];
        (0..40).map(|it| cron(&format!("{name}-{it}"), &format!("shop-{it:02}"), &rules)).collect()
    };
    let (old, new): (String, String) = (of(10, "hours"), of(12, "hours"));
    let folder = sides("alike", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    let line = "Deployment.apps default/shop-00 and 39 others: 10 → 12 replicas every day, 08:00 to 20:00; \
                +6,720 pod-hours a week; peak 10 → 12 each\n";
    diff(&folder, &["old", "new", "--for", "7d"]).assert_stdout(&[
        line,
        "40 of 40 values change; +6,720 pod-hours a week",
        "+6,720        10 → 12  several policies\n",
    ]);
    assert_eq!(differences(&folder).len(), 40);
    diff(&folder, &["old", "new", "--for", "7d", "-o", "markdown"])
        .assert_stdout(&["| Deployment.apps default/shop-00 and 39 others |"]);
}

#[test]
fn json_lists_every_repetition() {
    let rules = |replicas: u32| -> Vec<(String, String, u32)> {
        let rule = |hour: u32| (format!("h{hour}"), format!("0 {hour} * * *"), hour + replicas);
        (0..24).map(rule).collect()
    };
    let of = |replicas| {
        let all = rules(replicas);
        let all: Vec<_> = all.iter().map(|(name, when, to)| (&**name, &**when, *to)).collect();
        cron("hours", "shop", &all)
    };
    let folder = sides("recurring", &[("a.yaml", &of(1))], &[("a.yaml", &of(2))]);
    let all = differences(&folder);
    assert_eq!(all[0]["recurring"].as_array().unwrap().len(), 24);
    diff(&folder, &["old", "new"]).assert_stdout(&["and 16 more (-o json lists them)"]);
}

fn deployment(replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: shop}}\nspec: {{replicas: {replicas}}}\n"
    )
}

#[test]
fn a_policy_that_sets_the_existing_value_changes_nothing() {
    let always = cron("shop-hours", "shop", &[("open", "0 8 * * *", 5)]);
    let night = cron("shop-hours", "shop", &[("open", "0 8 * * *", 5), ("close", "0 20 * * *", 2)]);
    let five = deployment(5);
    let old = [("shop.yaml", five.as_str())];
    let [with_always, with_night] = [&always, &night]
        .map(|policy| [("shop.yaml", five.as_str()), ("policies/hours.yaml", policy.as_str())]);
    for (name, old, new) in [
        ("standing-new", &old[..], &with_always[..]),
        ("standing-gone", &with_always[..], &old[..]),
    ] {
        diff(&sides(name, old, new), &["old", "new", "--fail-on-change"]).ended(0);
    }
    let folder = sides("standing-night", &old, &with_night);
    // The period starts at the opening, so all nights are complete.
    let morning = ["diff", "old", "new", "--from", "2026-11-23T07:00:00Z"];
    let line = "Deployment.apps default/shop: newly set by a policy: 5 → 2 replicas every day, 20:00 to 08:00 the \
                next day; -252 pod-hours a week\n";
    almanac(&folder, &morning).assert_stdout(&[line]);
    let folder = sides("standing-night-gone", &with_night, &old);
    // The last value stays, as in a cluster.
    let line = "no longer set by any policy: 5 → 2 replicas every day, 08:00 to 20:00";
    diff(&folder, &["old", "new"]).assert_stdout(&[line]);
    let report = differences(&folder);
    assert_eq!(report[0]["presence"], "removed");
    let after = &report[0]["stretches"][0]["after"];
    assert_eq!(after["value"], 2);
    assert_eq!(after["policy"]["rule"], "close");
}

#[test]
fn a_policy_that_is_added_sets_nothing_for_firings_before_the_period() {
    let (yearly, three) = (cron("yearly", "shop", &[("new-year", "0 0 1 1 *", 9)]), deployment(3));
    let old = [("shop.yaml", three.as_str())];
    let folder = sides("added", &old, &[old[0], ("yearly.yaml", &yearly)]);
    diff(&folder, &["old", "new", "--fail-on-change"]).ended(0);
    let report = diff(&folder, &["old", "new", "--for", "60d", "-o", "json"]).json();
    let stretches = report["differences"][0]["stretches"].as_array().unwrap();
    assert_eq!(stretches.len(), 1);
    assert_eq!(stretches[0]["from"], "2026-12-31T23:00:00Z");
    assert_eq!(
        (&stretches[0]["before"]["value"], &stretches[0]["after"]["value"]),
        (&3.into(), &9.into())
    );
    let takes_over = "this version takes over at 2026-11-22T23:00:00Z: firings of new and edited rules before that \
                      set nothing";
    assert_eq!(report["assumptions"]["new"], serde_json::json!([takes_over]));
    // The replicas of a target outside the files are unknown on both sides until the first firing.
    let alone = sides("added-alone", &[], &[("yearly.yaml", &yearly)]);
    let gate = ["--fail-on-change"];
    let assumed = ["--assume", "deployment/shop.replicas=5", "--fail-on-change"];
    // Assumptions apply to both sides.
    for more in [&gate[..], &assumed] {
        diff(&alone, &[&["/dev/null", "new"], more].concat()).ended(0);
    }
    let stdout = diff(&alone, &[&["new", "/dev/null"], &assumed[..]].concat()).stdout;
    assert!(!stdout.contains("not set"), "{stdout}");
}

#[test]
fn added_and_edited_rules_begin_with_the_period_at_the_existing_values() {
    let usual = [("open", "0 8 * * *", 10), ("close", "0 20 * * *", 2)];
    let edited = [("open", "0 8 * * *", 12), usual[1], ("friday", "0 18 * * 5", 5)];
    let [before, after] = [&usual[..], &edited].map(|rules| cron("hours", "shop", rules));
    let replaced = cron("other", "shop", &[("late", "0 22 * * *", 1)]);
    for (name, new, changes) in [
        ("rules-edited", &after, "2026-11-24T07:00:00Z"),
        ("policy-replaced", &replaced, "2026-11-23T19:00:00Z"),
    ] {
        let folder = sides(name, &[("a.yaml", &before)], &[("a.yaml", new)]);
        // At noon, after the edited or removed rule has fired.
        let noon = ["diff", "old", "new", "--from", "2026-11-23T11:00:00Z", "-o", "json"];
        let report = almanac(&folder, &noon).json();
        assert_eq!(report["differences"][0]["stretches"][0]["from"], changes, "{name}");
    }
}

#[test]
fn the_assumptions_about_a_change_are_in_its_comment() {
    let folder = sides("assumed-comment", &[("a.yaml", &shop())], &[("a.yaml", &weekend_shop())]);
    let stdout = diff(&folder, &["old", "new", "-o", "markdown"]).stdout;
    let (_, assumptions) = stdout.split_once("\nAssumptions:\n\n").unwrap();
    let lines: Vec<&str> = assumptions.lines().collect();
    assert_eq!(lines.len(), 3, "{stdout}");
    assert_eq!(lines[0], "- Deployment.apps default/shop exists, although it is not in the input");
    assert!(
        lines[1].starts_with("- old: before 2026-11-22T23:00:00Z, the current rules"),
        "{stdout}"
    );
    assert!(lines[2].starts_with("- new: this version takes over at"), "{stdout}");
    let same = diff(&folder, &["new", "new", "-o", "markdown"]).stdout;
    assert!(!same.contains("Assumptions"), "{same}");
}

#[test]
fn a_missing_side_is_an_error_and_dev_null_is_an_empty_side() {
    let folder = sides("missing", &[("shop.yaml", &shop())], &[]);
    for paths in [["old", "nowhere"], ["nowhere", "old"]] {
        diff(&folder, &paths).ended(2).assert_stderr(&["nowhere", "name /dev/null"]);
    }
    let gone = diff(&folder, &["old", "/dev/null", "-o", "json"]).json();
    assert_eq!(gone["differences"][0]["presence"], "removed");
    assert_eq!(diff(&folder, &["old"]).code, Some(2));
    diff(&folder, &["-", "old"]).ended(2).assert_stderr(&["standard input cannot be compared"]);
}

#[test]
fn a_note_names_the_command_that_compares_rendered_objects() {
    let kustomization = "resources: [shop.yaml]\nnamePrefix: a-\n";
    let files = [("shop.yaml", &*shop()), ("kustomization.yaml", kustomization)]
        .map(|(file, text)| (file, text.to_owned()));
    let files = files.each_ref().map(|(file, text)| (*file, text.as_str()));
    let folder = sides("rendered", &files, &files);
    diff(&folder, &["old", "new"])
        .assert_stdout(&["add -k . to almanac diff, or list it in almanac.toml"]);
}

#[test]
fn a_score_that_only_one_side_has_can_be_assumed() {
    let cart = cron("cart", "cart", &[("open", "0 9 * * *", 3)]);
    let folder = sides("assumed", &[("a.yaml", &shop())], &[("a.yaml", &(shop() + &cart))]);
    let assume = |field| diff(&folder, &["old", "new", "--assume", field]);
    assert_eq!(assume("deployment/cart.replicas=7").code, Some(0));
    assert_eq!(assume("deployment/shop.replicas=7").code, Some(0));
    assert_eq!(assume("deployment/none.replicas=7").code, Some(2));
}

#[test]
fn a_comment_fits_its_limit_and_names_are_not_markup() {
    // A rule may have any name.
    let of = |replicas| {
        let one = |number: u32| {
            let open = ("\"o|<b>@all\"", "0 8 * * *", replicas + number);
            let rules = [open, ("close", "0 20 * * *", 2)];
            cron(&format!("hours-{number}"), &format!("shop-{number}"), &rules)
        };
        (0..1500).map(one).collect::<String>()
    };
    let folder = sides("many", &[("a.yaml", &of(10))], &[("a.yaml", &of(12))]);
    let stdout = diff(&folder, &["old", "new", "-o", "markdown", "--for", "7d"]).stdout;
    assert!(stdout.len() < 65_536 && stdout.len() > 50_000, "{}", stdout.len());
    assert!(
        stdout.contains("more changed values are not listed here"),
        "{}",
        &stdout[stdout.len() - 300..]
    );
    assert!(
        !stdout.contains("<b>") && !stdout.contains("@all") && !stdout.contains("o|"),
        "{stdout}"
    );
    let terminal = diff(&folder, &["old", "new", "--for", "7d"]).stdout;
    assert!(terminal.contains("\nand 1300 values more (-o json lists them, --only shows some)\n"));
    assert!(terminal.len() < 65_536, "{}", terminal.len());
    let page = diff(&folder, &["old", "new", "-o", "html", "--for", "7d"]).stdout;
    assert!(page.contains("hours-7 o|&lt;b&gt;@all") && !page.contains("<b>@all"));
    assert!(!page.contains("<script"));
}

#[test]
fn named_directories_are_read_even_if_gitignore_matches_them() {
    let folder = sides("ignored", &[("a.yaml", &shop())], &[("a.yaml", &weekend_shop())]);
    fs::write(folder.join(".gitignore"), "old/\nnew/\n").unwrap();
    diff(&folder, &["old", "new", "--fail-on-change"])
        .ended(1)
        .assert_stdout(&["old → new: 1 of 1 value changes"]);
}
