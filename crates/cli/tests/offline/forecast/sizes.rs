//! The sizes of pages and pictures of many values over a long period. The page contains every segment and every Job
//! start of the JSON. A picture shows the lowest and the highest value of each pixel.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::forecast::running::{almanac, folder_with};
use crate::running::{Ran, list, word};

const ZONES: [&str; 5] =
    ["Europe/Berlin", "America/New_York", "Etc/UTC", "Asia/Kolkata", "Australia/Lord_Howe"];

const SCHEDULES: [&str; 15] = [
    "*/1 * * * *",
    "*/2 * * * *",
    "*/5 * * * *",
    "*/10 * * * *",
    "*/15 8-18 * * 1-5",
    "0,30 * * * *",
    "7 * * * *",
    "0 */6 * * *",
    "30 2 * * *",
    "45 23 * * *",
    "15 3 * * 0",
    "0 6 * * 1",
    "10 4 1 * *",
    "*/3 2 * * *",
    "0 0 29 2 *",
];

/// Thirty `CronJobs`, from a `CronJob` that starts a Job every minute to a `CronJob` without a start in this year.
fn cron_jobs(name: &str) -> PathBuf {
    let mut jobs = String::new();
    for number in 0..30 {
        let (schedule, zone) = (SCHEDULES[number % 15], ZONES[number % 7 % 5]);
        let spec = "jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}";
        writeln!(
            jobs,
            "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: job-{number}}}\nspec:\n  \
             schedule: '{schedule}'\n  timeZone: {zone}\n  {spec}"
        )
        .unwrap();
    }
    folder_with(name, &[("jobs.yaml", &jobs)])
}

/// Rules, each with its hour, its days of the week, and its minimum number of replicas.
type Rules = &'static [(&'static str, usize, &'static str, usize)];

const FOUR_A_DAY: Rules =
    &[("open", 7, "1-5", 10), ("peak", 11, "*", 20), ("after", 15, "*", 8), ("close", 20, "*", 2)];
/// Wide steps in a picture of a year.
const TWO_A_WEEK: Rules = &[("open", 7, "1", 10), ("close", 20, "5", 2)];

fn workloads(name: &str, count: usize, rules: Rules) -> PathBuf {
    let mut policies = String::new();
    for number in 0..count {
        let zone = ZONES[number % 5];
        writeln!(
            policies,
            "---\napiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\n\
             metadata: {{name: hours-{number}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web-{number}}}\n  rules:"
        )
        .unwrap();
        for (rule, hour, days, least) in rules {
            let replicas = if *rule == "close" { *least } else { least + number % 7 };
            let minute = number * hour % 60;
            writeln!(
                policies,
                "  - {{name: {rule}, schedule: '{minute} {hour} * * {days}', timeZone: {zone}, targetReplicas: {replicas}}}"
            )
            .unwrap();
        }
    }
    folder_with(name, &[("policies.yaml", &policies)])
}

fn forecast(folder: &Path, period: [&str; 2], format: &str) -> Ran {
    let [from, length] = period;
    let arguments = ["forecast", "-f", ".", "--from", from, "--for", length, "-o", format];
    almanac(folder, &arguments).ended(0)
}

const QUARTER: [&str; 2] = ["2026-01-01T00:00:00Z", "90d"];
const YEAR: [&str; 2] = ["2026-01-01T00:00:00Z", "365d"];
/// The clocks of Europe and of Lord Howe change in these days.
const SPRING: [&str; 2] = ["2026-03-27T00:00:00Z", "14d"];

#[test]
fn a_page_of_a_quarter_or_a_year_takes_less_than_three_megabytes_and_a_picture_less_than_two() {
    for (folder, period) in [
        (cron_jobs("sizes-of-jobs"), QUARTER),
        (workloads("sizes-of-days", 300, FOUR_A_DAY), YEAR),
        (workloads("sizes-of-weeks", 300, TWO_A_WEEK), YEAR),
    ] {
        for (format, most) in [("html", 3_000_000), ("svg", 2_000_000)] {
            let size = forecast(&folder, period, format).stdout.len();
            assert!(size < most, "{format} of {} takes {size} bytes", folder.display());
        }
    }
}

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"forecast\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The expanded numbers of a column. A pair `[back, count]` repeats `count` numbers.
fn expanded(column: &Value) -> Vec<usize> {
    let number = |it: &Value| usize::try_from(it.as_u64().unwrap()).unwrap();
    let mut numbers: Vec<usize> = Vec::new();
    for item in list(column) {
        match item.as_array().map(Vec::as_slice) {
            None => numbers.push(number(item)),
            Some([back, count]) => {
                let (back, count) = (number(back), number(count));
                (0..count).for_each(|_| numbers.push(numbers[numbers.len() - back]));
            }
            Some(other) => panic!("{other:?}"),
        }
    }
    numbers
}

fn milliseconds(at: &Value) -> i64 {
    word(at).parse::<Timestamp>().unwrap().as_millisecond()
}

#[test]
fn the_page_has_every_start_of_the_json() {
    let folder = cron_jobs("starts-of-jobs");
    let output = forecast(&folder, SPRING, "json").json();
    let occurrences = list(&output["occurrences"]).iter();
    let mut expected: Vec<(&str, i64)> =
        occurrences.map(|it| (word(&it["object"]["name"]), milliseconds(&it["at"]))).collect();
    expected.sort_unstable();
    let page = data(&forecast(&folder, SPRING, "html").stdout);
    let mut found = Vec::new();
    for job in list(&page["occurrences"]) {
        let name = word(&job["object"][2]);
        let mut at = job["first"].as_i64().unwrap();
        found.push((name, at));
        for step in expanded(&job["run"]) {
            at += job["steps"][step].as_i64().unwrap();
            found.push((name, at));
        }
    }
    found.sort_unstable();
    assert!(expected.len() > 70_000, "{}", expected.len());
    assert!(found == expected, "{} starts of {}", found.len(), expected.len());
}

#[test]
fn the_page_has_every_segment_of_the_json() {
    let folder = workloads("segments-of-workloads", 10, FOUR_A_DAY);
    let output = forecast(&folder, YEAR, "json").json();
    let page = data(&forecast(&folder, YEAR, "html").stdout);
    let mut count = 0;
    let parts = list(&page["parts"]).iter();
    let rows = parts.flat_map(|part| list(&part["rows"]).iter().map(move |row| (part, row)));
    for ((part, row), series) in rows.zip(list(&output["series"])) {
        assert_eq!(row["target"][2], series["target"]["name"]);
        let (segments, run) = (list(&series["segments"]), expanded(&row["run"]));
        assert_eq!(segments.len(), run.len());
        let mut at = milliseconds(&output["from"]);
        for (segment, step) in segments.iter().zip(run) {
            let step = &row["steps"][step];
            let [length, value, origin] =
                [0_usize, 1, 2].map(|it| usize::try_from(step[it].as_u64().unwrap()).unwrap());
            let end = at + i64::try_from(length).unwrap();
            assert_eq!((at, end), (milliseconds(&segment["from"]), milliseconds(&segment["to"])));
            assert_eq!(row["values"][value], segment["value"]);
            let origin = &part["origins"][origin];
            assert_eq!(origin[1], segment["reason"]);
            let writer = origin[0].as_u64().map(|it| usize::try_from(it).unwrap());
            let writer = writer.map_or(&Value::Null, |it| &part["writers"][it]["rule"]);
            assert_eq!(*writer, segment["policy"]["rule"]);
            at = end;
            count += 1;
        }
    }
    assert!(count > 10_000, "{count} segments");
}

const PIXELS: i64 = 728;

/// The heights in tenths at the middle of each pixel, from an SVG path on the baseline.
fn heights(path: &str) -> Vec<i64> {
    let tenths = |number: &str| {
        let (sign, number) = number.strip_prefix('-').map_or((1, number), |it| (-1, it));
        let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
        let part = |it: &str| if it.is_empty() { 0 } else { it.parse::<i64>().unwrap() };
        sign * (part(whole) * 10 + part(rest))
    };
    let path = path.strip_prefix("M16 ").unwrap().strip_suffix('z').unwrap();
    let (mut x, mut height, mut found) = (0, 0, Vec::new());
    // The first word of the path is the baseline.
    for word in path.replace('h', " h").replace('v', " v").split_whitespace().skip(1) {
        let (letter, number) = word.split_at(1);
        if letter == "v" {
            height -= tenths(number);
            continue;
        }
        x += tenths(number);
        while i64::try_from(found.len()).unwrap() * 10 + 5 < x {
            found.push(height);
        }
    }
    assert_eq!((x, height), (PIXELS * 10, 0), "the area ends at the end, on the ground");
    found
}

#[test]
fn a_picture_has_the_lowest_and_the_highest_value_of_each_pixel() {
    let folder = workloads("pixels-of-workloads", 10, FOUR_A_DAY);
    let output = forecast(&folder, YEAR, "json").json();
    let picture = forecast(&folder, YEAR, "svg").stdout;
    let paths = |class: &str| -> Vec<String> {
        let begin = format!("<path class=\"{class}\" d=\"");
        let lines = picture.lines().filter_map(|line| line.strip_prefix(&begin));
        lines.map(|it| it.split('"').next().unwrap().to_owned()).collect()
    };
    let (most, least) = (paths("at-most"), paths("at-least"));
    let series = list(&output["series"]);
    assert_eq!((most.len(), least.len()), (series.len(), series.len()));
    let (start, end) = (milliseconds(&output["from"]), milliseconds(&output["to"]));
    for ((series, most), least) in series.iter().zip(most).zip(least) {
        let segment = |it: &Value| {
            let value = it["value"].as_i64().unwrap_or(0);
            (milliseconds(&it["from"]), milliseconds(&it["to"]), value)
        };
        let segments: Vec<_> = list(&series["segments"]).iter().map(segment).collect();
        let highest = segments.iter().map(|it| it.2).max().unwrap();
        let rise = |number: i64| ((number * 560 + highest / 2) / highest).max(10);
        let (most, least) = (heights(&most), heights(&least));
        for pixel in 0..PIXELS {
            let edge = |pixel: i64| pixel * (end - start);
            let within = segments.iter().filter(|(from, to, _)| {
                (from - start) * PIXELS < edge(pixel + 1) && (to - start) * PIXELS > edge(pixel)
            });
            let values: Vec<i64> = within.map(|it| it.2).collect();
            let index = usize::try_from(pixel).unwrap();
            let expected =
                (rise(*values.iter().min().unwrap()), rise(*values.iter().max().unwrap()));
            assert_eq!(
                (least[index], most[index]),
                expected,
                "pixel {pixel} of {}",
                series["target"]
            );
        }
    }
    assert_eq!(picture.matches(" steps: 2 to ").count(), series.len(), "one title for all");
    assert_eq!(picture.matches(">at some time of it</text>").count(), series.len());
    assert!(!picture.contains("data-value"), "no step has a title of its own");
}
