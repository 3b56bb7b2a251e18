//! A side with something in it that cannot be used: what depends on it is no change that anybody means.

use crate::running::{cron, diff, json, shop, sides, text};

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
fn what_depends_on_a_broken_object_is_not_told_as_a_change_and_a_gate_stays_shut() {
    let cart = cron("cart", "cart", &[("open", "0 9 * * *", 3)]);
    let broken = shop().replace("targetReplicas", "targetreplicas");
    let (old, new) = (shop() + &cart, broken + &cart.replace(": 3}", ": 4}"));
    let folder = sides("unusable", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    let lenient = ["old", "new", "--fail-on", "never"];
    let output = diff(&folder, &lenient);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    let second = said.lines().nth(1).unwrap();
    let incomplete = "The new side is incomplete: CronFederatedHPA.autoscaling.karmada.io default/shop-hours cannot \
                      be used as written. What depends on it is not compared; see the findings.";
    assert_eq!(second, incomplete);
    assert!(said.contains("old → new: 1 of 1 value changes and 1 is not compared"), "{said}");
    assert!(!said.contains("no longer set") && !said.contains("default/shop:"), "{said}");
    let told = json(&diff(&folder, &[&lenient[..], &["-o", "json"]].concat()));
    assert_eq!(told["differences"].as_array().unwrap().len(), 1);
    assert_eq!(told["incomplete"][0], "CronFederatedHPA.autoscaling.karmada.io default/shop-hours");
    assert_eq!(told["summary"]["notCompared"], 1);
    for format in ["markdown", "html"] {
        let said = text(&diff(&folder, &[&lenient[..], &["-o", format]].concat()).stdout);
        assert!(said.contains("The new side is incomplete"), "{said}");
    }
    // Nothing else changes, and still nobody knows.
    let other = shop().replace("targetReplicas", "targetreplicas");
    let folder = sides("unusable-only", &[("a.yaml", &shop())], &[("a.yaml", &other)]);
    let gate = diff(&folder, &[&lenient[..], &["--fail-on-change"]].concat());
    assert_eq!(gate.status.code(), Some(1));
    let said = text(&gate.stdout);
    assert!(said.contains("No change is known: 0 values compared, 1 is not"), "{said}");
}

#[test]
fn what_may_be_in_a_file_that_cannot_be_read_is_not_told_as_gone() {
    let cart = cron("cart", "cart", &[("open", "0 9 * * *", 3)]);
    let unread = shop().replace("rules:", "rules: [");
    let folder = sides(
        "unread",
        &[("a.yaml", &shop()), ("b.yaml", &cart)],
        &[("a.yaml", &unread), ("b.yaml", &cart)],
    );
    let said = text(&diff(&folder, &["old", "new"]).stdout);
    assert!(said.contains("The new side is incomplete: new/a.yaml cannot be used"), "{said}");
    assert!(said.contains("No change is known: 1 value compared, 1 is not"), "{said}");
}

#[test]
fn what_reads_a_broken_schedule_is_not_compared_either() {
    let folder = sides(
        "unusable-schedule",
        &[("a.yaml", crate::families::READ_SCHEDULE)],
        &[("a.yaml", &crate::families::READ_SCHEDULE.replace("hours: 17", "hours: 99"))],
    );
    let said = text(&diff(&folder, &["old", "new"]).stdout);
    assert!(said.contains("No change is known: 0 values compared, 2 are not"), "{said}");
}
