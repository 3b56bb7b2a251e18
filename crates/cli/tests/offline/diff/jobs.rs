//! `CronJobs` whose starts differ, with and without policies.

use serde_json::json;

use crate::diff::running::{almanac, diff, shop, sides, weekend_shop};

fn job(name: &str, schedule: &str, more: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\nspec:\n  schedule: \"{schedule}\"\n{more}\
         ---\n"
    )
}

const BERLIN: &str = "  timeZone: Europe/Berlin\n";

#[test]
fn a_changed_schedule_is_a_change_in_every_format_without_any_policy() {
    let (old, new) = (job("backup", "0 2 * * *", BERLIN), job("backup", "0 4 * * *", BERLIN));
    let same = job("report", "0 6 * * 1", BERLIN);
    let folder =
        sides("jobs-schedule", &[("a.yaml", &(old + &same))], &[("a.yaml", &(new + &same))]);
    let output = diff(&folder, &["old", "new", "--fail-on-change"]).ended(1);
    let sentence = "CronJob.batch default/backup: starts Jobs at 02:00 every day (Europe/Berlin) → at 04:00 every \
                    day (Europe/Berlin); 35 → 35 starts in the period; from Mon 2026-11-23 02:00 +01:00 on";
    output.assert_stdout(&["old → new: 1 of 2 CronJobs changes", sentence]);
    for format in ["markdown", "html"] {
        let parts = ["1 of 2 CronJobs changes", "at 02:00 every day", "at 04:00 every day"];
        diff(&folder, &["old", "new", "-o", format]).assert_stdout(&parts);
    }
    let report = diff(&folder, &["old", "new", "-o", "json"]).json();
    assert_eq!(report["cronJobs"].as_array().map(Vec::len), Some(1), "{report:#}");
    let job = &report["cronJobs"][0];
    assert_eq!(job["target"]["name"], "backup");
    assert_eq!((&job["presence"], &job["from"]), (&json!("both"), &json!("2026-11-23T01:00:00Z")));
    assert_eq!(job["after"]["starts"], 35);
}

#[test]
fn a_changed_time_zone_and_a_suspension_are_changes() {
    let plain = job("backup", "0 2 * * *", BERLIN);
    for (new, part) in [
        (job("backup", "0 2 * * *", "  timeZone: Asia/Tokyo\n"), "(Asia/Tokyo)"),
        (job("backup", "0 2 * * *", &format!("{BERLIN}  suspend: true\n")), ", suspended"),
    ] {
        let folder = sides("jobs-fields", &[("a.yaml", &plain)], &[("a.yaml", &new)]);
        diff(&folder, &["old", "new"]).assert_stdout(&["1 of 1 CronJob changes", part]);
    }
}

#[test]
fn an_added_or_removed_cron_job_is_a_change() {
    let folder = sides(
        "jobs-come-and-go",
        &[("a.yaml", &job("old", "0 2 * * *", BERLIN))],
        &[("a.yaml", &job("new", "0 2 * * *", BERLIN))],
    );
    diff(&folder, &["old", "new"]).assert_stdout(&["1 CronJob is new and 1 CronJob is removed"]);
    let only = diff(&folder, &["old", "new", "--only", "cronjob/new"]).stdout;
    assert!(only.contains("1 CronJob is new\n") && !only.contains("gone"), "{only}");
}

#[test]
fn a_rewritten_but_equal_schedule_is_not_a_change() {
    let (one, other) =
        (job("backup", "0 2 * * 1", ""), job("backup", "0 2 * * MON", "  timeZone: UTC\n"));
    let folder = sides("jobs-same", &[("a.yaml", &one)], &[("b.yaml", &other)]);
    let output = diff(&folder, &["old", "new", "--fail-on-change"]).ended(0);
    output.assert_stdout(&["Nothing changes: 1 CronJob compared"]);
    // The zone of `CronJobs` without a time zone is set here.
    diff(&folder, &["old", "new", "--cron-job-zone", "Europe/Berlin"])
        .assert_stdout(&["1 of 1 CronJob changes"]);
}

#[test]
fn schedules_that_start_jobs_at_the_same_instants_are_not_a_change() {
    let suspended = format!("{BERLIN}  suspend: true\n");
    let paris = "  timeZone: Europe/Paris\n";
    for (old, new) in [
        (job("a", "0 2 * * *", &suspended), job("a", "0 4 * * *", &suspended)),
        (job("a", "0 2 * * *", BERLIN), job("a", "0 2 * * *", paris)),
        (job("a", "0 2 29 2 *", BERLIN), job("a", "0 3 29 2 *", BERLIN)),
    ] {
        let folder = sides("jobs-instants", &[("a.yaml", &old)], &[("a.yaml", &new)]);
        diff(&folder, &["old", "new", "--fail-on-change"])
            .ended(0)
            .assert_stdout(&["Nothing changes: 1 CronJob compared"]);
    }
    // The start of an interval is unknown.
    let (old, new) = (job("a", "@every 1h", ""), job("a", "@every 2h", ""));
    let folder = sides("jobs-intervals", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    diff(&folder, &["old", "new"]).assert_stdout(&["1 of 1 CronJob changes"]);
}

#[test]
fn values_and_cron_jobs_are_counted_together() {
    let old = shop() + &job("backup", "0 2 * * *", BERLIN);
    let new = weekend_shop() + &job("backup", "0 3 * * *", BERLIN);
    let folder = sides("jobs-and-values", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    diff(&folder, &["old", "new"])
        .assert_stdout(&["1 of 1 value changes and 1 of 1 CronJob changes"]);
    let broken = job("backup", "0 2 * *", BERLIN);
    let folder = sides("jobs-broken", &[("a.yaml", &old)], &[("a.yaml", &(shop() + &broken))]);
    let gate = ["diff", "old", "new", "--fail-on", "never", "--fail-on-change"];
    let part = "No change is known: 1 value and 0 CronJobs compared, 1 CronJob is not";
    almanac(&folder, &gate).ended(1).assert_stdout(&[part]);
}
