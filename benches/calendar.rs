//! Measures the time to find the next firing or transition, compared with the crates `croner` and `cron` on the same
//! expressions and instants.
//!
//! Every case walks over the same thousand instants of two years in Europe/Berlin. Before the measurement, the results
//! of the peers are compared with ours. A peer has no figure for expressions that it interprets differently. The table
//! at the end comes from criterion's own estimates of this run.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark has no readers of its documentation, and fails by panicking"
)]

use std::hint::black_box;
use std::str::FromStr;
use std::time::Duration;

use almanac_calendar::{
    Cron, DailyWindow, Firings, Pattern, PatternText, PatternWindow, Windows, Zone,
};
use chrono::TimeZone;
use criterion::Criterion;
use jiff::{SignedDuration, Timestamp};

const ZONE: &str = "Europe/Berlin";

/// The expression for Almanac, and the same expression for the crate `cron`. That crate has seconds and counts weekdays
/// from 1.
const CRONS: [(&str, &str); 10] = [
    ("* * * * *", "0 * * * * * *"),
    ("*/5 * * * *", "0 */5 * * * * *"),
    ("0 * * * *", "0 0 * * * * *"),
    ("30 8 * * *", "0 30 8 * * * *"),
    ("30 8 * * 1-5", "0 30 8 * * 2-6 *"),
    ("*/15 9-17 * * mon-fri", "0 */15 9-17 * * Mon-Fri *"),
    ("0 0 1 * *", "0 0 0 1 * * *"),
    ("0 0 13 * 5", "0 0 0 13 * 6 *"),
    ("15 3 1 1,7 *", "0 15 3 1 1,7 * *"),
    ("0 0 29 2 *", "0 0 0 29 2 * *"),
];

const DAILY: [(&str, &str); 5] = [
    ("08:00", "20:00"),
    ("22:00", "06:00"),
    ("00:00", "24:00"),
    ("02:15", "02:45"),
    ("23:59", "00:01"),
];

fn patterns() -> [(&'static str, PatternText<'static>, PatternText<'static>); 5] {
    let any = PatternText::default();
    let at = |hours| PatternText { hours: Some(hours), ..any };
    let working = Some("Mon,Tue,Wed,Thu,Fri");
    let monday_leap_day = PatternText { days: Some("29"), months: Some("Feb"), ..any };
    [
        ("daily 9 to 17", at("9"), at("17")),
        (
            "working days 9 to 17",
            PatternText { weekdays: working, ..at("9") },
            PatternText { weekdays: working, ..at("17") },
        ),
        (
            "Fri 17 to Mon 9",
            PatternText { weekdays: Some("Fri"), ..at("17") },
            PatternText { weekdays: Some("Mon"), ..at("9") },
        ),
        (
            "Black Friday 2026",
            PatternText { days: Some("27"), months: Some("Nov"), years: Some("2026"), ..at("6") },
            PatternText { days: Some("28"), months: Some("Nov"), years: Some("2026"), ..any },
        ),
        (
            "29 Feb on a Monday",
            PatternText { weekdays: Some("Mon"), ..monday_leap_day },
            PatternText { days: Some("1"), months: Some("Mar"), ..any },
        ),
    ]
}

/// A thousand instants, spread unevenly over two years.
fn instants() -> Vec<Timestamp> {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    (0..1000).map(|index| start + SignedDuration::from_secs(index * 63_113 + index % 61)).collect()
}

/// Measures one call at every instant in turn.
fn measure<I: Clone, O>(
    criterion: &mut Criterion,
    group: &str,
    name: &str,
    inputs: &[I],
    mut call: impl FnMut(&I) -> O,
) {
    let mut group = criterion.benchmark_group(group);
    group.bench_function(name, |bencher| {
        let mut index = 0;
        bencher.iter(|| {
            index = if index + 1 == inputs.len() { 0 } else { index + 1 };
            black_box(call(black_box(&inputs[index])))
        });
    });
    group.finish();
}

struct Row {
    case: String,
    ours: f64,
    croner: Option<f64>,
    cron: Option<f64>,
}

fn crons(criterion: &mut Criterion) -> Vec<Row> {
    let ours_at = instants();
    let zone: chrono_tz::Tz = ZONE.parse().unwrap();
    let theirs_at: Vec<_> =
        ours_at.iter().map(|at| zone.timestamp_opt(at.as_second(), 0).unwrap()).collect();
    CRONS
        .iter()
        .map(|(expression, with_seconds)| {
            let firings: Firings =
                Cron::parse(expression).unwrap().in_zone(Zone::named(ZONE).unwrap());
            let croner = croner::Cron::from_str(expression).unwrap();
            let cron = cron::Schedule::from_str(with_seconds).unwrap();
            let agrees = |theirs: &dyn Fn(usize) -> i64| {
                (0..ours_at.len())
                    .filter(|index| {
                        firings.next(ours_at[*index]).unwrap().as_second() == theirs(*index)
                    })
                    .count()
            };
            let croner_agrees = agrees(&|index| {
                croner.find_next_occurrence(&theirs_at[index], false).unwrap().timestamp()
            });
            let cron_agrees = agrees(&|index| {
                cron.after(&theirs_at[index]).next().map_or(0, |it| it.timestamp())
            });
            println!("{expression}: croner agrees {croner_agrees}/1000, cron {cron_agrees}/1000");

            measure(criterion, expression, "almanac", &ours_at, |at| firings.next(*at));
            measure(criterion, expression, "croner", &theirs_at, |at| {
                croner.find_next_occurrence(at, false)
            });
            measure(criterion, expression, "cron", &theirs_at, |at| cron.after(at).next());
            let same = |agreeing| agreeing > 990;
            Row {
                case: (*expression).to_owned(),
                ours: estimate(expression, "almanac"),
                croner: same(croner_agrees).then(|| estimate(expression, "croner")),
                cron: same(cron_agrees).then(|| estimate(expression, "cron")),
            }
        })
        .collect()
}

fn windows(criterion: &mut Criterion) -> Vec<Row> {
    let at = instants();
    let zone = Zone::named(ZONE).unwrap();
    let daily = DAILY.iter().map(|(start, end)| {
        let window = DailyWindow::parse(start, end).unwrap().in_zone(zone);
        (format!("window {start}-{end}"), window)
    });
    let patterns = patterns().into_iter().map(|(name, start, end)| {
        let (start, end) = (Pattern::parse(start).unwrap(), Pattern::parse(end).unwrap());
        (format!("pattern {name}"), PatternWindow::new(start, end).unwrap().in_zone(zone))
    });
    daily
        .chain(patterns)
        .map(|(case, window): (String, Windows)| {
            measure(criterion, &case, "almanac", &at, |at| window.next_transition(*at));
            measure(criterion, &case, "is_open", &at, |at| window.is_open(*at));
            Row { ours: estimate(&case, "almanac"), case, croner: None, cron: None }
        })
        .collect()
}

/// Criterion's own median of a case of this run, in nanoseconds.
fn estimate(group: &str, name: &str) -> f64 {
    let folder = group.replace(['*', '/', '?', ':', '"', '<', '>', '|', '\\', '^'], "_");
    let target = std::env::var("CARGO_TARGET_DIR")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../target").to_owned());
    let path = format!("{target}/criterion/{folder}/{name}/new/estimates.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let estimates: serde_json::Value = serde_json::from_str(&text).unwrap();
    estimates["median"]["point_estimate"].as_f64().unwrap()
}

fn print_table(rows: &[Row]) {
    println!("\n| case | almanac | croner | cron | faster than the faster peer |");
    println!("|---|--:|--:|--:|--:|");
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |it| format!("{it:.0} ns"));
    for row in rows {
        let peer = match (row.croner, row.cron) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let ratio = peer.map_or("-".to_owned(), |peer| format!("{:.1}x", peer / row.ours));
        let (ours, croner, cron) = (figure(Some(row.ours)), figure(row.croner), figure(row.cron));
        println!("| `{}` | {ours} | {croner} | {cron} | {ratio} |", row.case);
    }
}

fn print_memory() {
    let zones: Vec<Zone> = Zone::all().collect();
    let bytes: usize = zones.iter().map(|zone| zone.table_bytes()).sum();
    println!(
        "\nMemory: Firings {} bytes, Windows {} bytes (and 2 bytes a year, where years are named)",
        size_of::<Firings>(),
        size_of::<Windows>()
    );
    #[expect(clippy::cast_precision_loss, reason = "a few million bytes")]
    let mebibytes = bytes as f64 / f64::from(1 << 20);
    println!(
        "Zone tables: {ZONE} {} bytes, UTC {} bytes; all {} zones together {:.1} MiB",
        Zone::named(ZONE).unwrap().table_bytes(),
        Zone::utc().table_bytes(),
        zones.len(),
        mebibytes,
    );
}

fn main() {
    let mut criterion = Criterion::default()
        .configure_from_args()
        .without_plots()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    // `cargo test --benches` only checks that it runs.
    let testing = std::env::args().any(|argument| argument == "--test");
    if testing {
        return;
    }
    let mut rows = crons(&mut criterion);
    rows.extend(windows(&mut criterion));
    criterion.final_summary();
    print_table(&rows);
    print_memory();
}
