//! The demo of `almanac up`: a small company that uses all families of policies. The times in its objects are computed
//! from the present, so that something happens soon after the start. `documents` applies them.
//!
//! Scores are in the status of their objects, which must be applied separately.

use almanac_api::reading::Source;
use jiff::tz::TimeZone;
use jiff::{RoundMode, Timestamp, ToSpan as _, Unit, Zoned, ZonedRound};

/// The description of the demo's nodes.
pub(crate) fn nodes() -> Source {
    Source::new("the demo's nodes", include_str!("demo/nodes.yaml"))
}

/// The pace of the actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DemoPace {
    /// An action about every two minutes: for a clock at normal speed.
    Minutes,
    /// An action about every two hours: for a fast clock.
    Hours,
}

impl DemoPace {
    /// The pace that a user can follow at this speed, in seconds per second.
    pub(crate) fn at_speed(speed: u32) -> Self {
        if speed < 60 { Self::Minutes } else { Self::Hours }
    }
}

/// The separator of two documents.
const SEPARATOR: &str = "---\n";

/// The objects of the demo, in an order in which they can be applied.
pub(crate) fn documents(now: Timestamp, pace: DemoPace) -> String {
    let times = Times { start: start(now, pace), pace };
    let mut text = [
        include_str!("demo/shop.yaml"),
        include_str!("demo/reports.yaml"),
        include_str!("demo/clusters.yaml"),
    ]
    .join(SEPARATOR);
    let (unit, units) = match pace {
        DemoPace::Minutes => ("minute", "minutes"),
        DemoPace::Hours => ("hour", "hours"),
    };
    // A name must be replaced before its prefixes.
    for (name, value) in [
        ("$UNITS", units.to_owned()),
        ("$UNIT", unit.to_owned()),
        ("$BUSY", times.every_four(2)),
        ("$QUIET", times.every_four(4)),
        ("$RUSH", times.repeatedly(1)),
        ("$LULL", times.repeatedly(5)),
        ("$SALE", times.daily(4)),
        ("$SOLD_OUT", times.daily(7)),
        ("$FIRST_NIGHT", times.time_of_day(3)),
        ("$FIRST_MORNING", times.time_of_day(5)),
        ("$SECOND_NIGHT", times.time_of_day(11)),
        ("$SECOND_MORNING", times.time_of_day(13)),
        ("$EAST_EXPIRES", times.after(5).timestamp().to_string()),
        ("$NORTH_EXPIRES", times.after(9).timestamp().to_string()),
    ] {
        text = text.replace(name, &value);
    }
    text
}

/// The documents with a status.
pub(crate) fn statuses(now: Timestamp, pace: DemoPace) -> String {
    let all = documents(now, pace);
    let with_status = all.split(SEPARATOR).filter(|document| document.contains("\nstatus:\n"));
    with_status.collect::<Vec<_>>().join(SEPARATOR)
}

/// The start of the current minute or hour: all times in the objects are whole minutes or hours.
fn start(now: Timestamp, pace: DemoPace) -> Zoned {
    let now = now.to_zoned(TimeZone::UTC);
    let unit = match pace {
        DemoPace::Minutes => Unit::Minute,
        DemoPace::Hours => Unit::Hour,
    };
    let start = now.round(ZonedRound::new().smallest(unit).mode(RoundMode::Trunc));
    start.unwrap_or(now)
}

/// The times of the actions, in the syntax of each family.
struct Times {
    start: Zoned,
    pace: DemoPace,
}

impl Times {
    /// A number of minutes or hours after the start.
    fn after(&self, units: i64) -> Zoned {
        let later = match self.pace {
            DemoPace::Minutes => units.minutes(),
            DemoPace::Hours => units.hours(),
        };
        self.start.saturating_add(later)
    }

    /// The minute of the hour, or the hour of the day, of the instant that [`Times::after`] returns.
    fn position(&self, units: i64) -> i8 {
        let at = self.after(units);
        match self.pace {
            DemoPace::Minutes => at.minute(),
            DemoPace::Hours => at.hour(),
        }
    }

    /// A cron expression that fires at that instant, then every four minutes or hours.
    fn every_four(&self, units: i64) -> String {
        match (self.pace, self.position(units) % 4) {
            (DemoPace::Minutes, 0) => "*/4 * * * *".to_owned(),
            (DemoPace::Minutes, first) => format!("{first}-59/4 * * * *"),
            (DemoPace::Hours, 0) => "0 */4 * * *".to_owned(),
            (DemoPace::Hours, first) => format!("0 {first}-23/4 * * *"),
        }
    }

    /// A pattern that matches that instant, then every ten minutes or twelve hours.
    fn repeatedly(&self, units: i64) -> String {
        let (period, all) = match self.pace {
            DemoPace::Minutes => (10, 60),
            DemoPace::Hours => (12, 24),
        };
        let first = self.position(units) % period;
        let positions = list((0..all / period).map(|nth| first + nth * period));
        match self.pace {
            DemoPace::Minutes => format!("{{hours: {}, minutes: {positions}}}", list(0..24)),
            DemoPace::Hours => format!("{{hours: {positions}}}"),
        }
    }

    /// A pattern that matches that time of every day.
    fn daily(&self, units: i64) -> String {
        let at = self.after(units);
        format!("{{hours: {}, minutes: {}}}", at.hour(), at.minute())
    }

    /// The time of day of that instant.
    fn time_of_day(&self, units: i64) -> String {
        self.after(units).strftime("%H:%M").to_string()
    }
}

fn list(numbers: impl Iterator<Item = i8>) -> String {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    format!("\"{}\"", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use clap::Parser as _;
    use serde_json::Value;

    use super::*;
    use crate::{Arguments, Command, lint, next, validate};

    const PACES: [DemoPace; 2] = [DemoPace::Minutes, DemoPace::Hours];

    fn instant(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    /// The output of a command for documents, as JSON.
    fn command_output(command: &str, documents: &str, more: &[&str], now: Timestamp) -> Value {
        let dir = tempfile::tempdir().expect("create a directory");
        let file = dir.path().join("demo.yaml");
        fs::write(&file, documents).expect("written");
        let file = file.to_str().expect("a plain path");
        let words = ["almanac", command, "-f", file, "-o", "json"];
        let words = words.into_iter().chain(more.iter().copied());
        let mut output = Vec::new();
        let arguments = Arguments::try_parse_from(words).expect("a command line");
        match &arguments.command {
            Command::Lint(arguments) => lint::run(arguments, now, &mut output),
            Command::Next(arguments) => next::run(arguments, now, &mut output),
            Command::Validate(arguments) => validate::run(arguments, now, &mut output),
            _ => panic!("{command} is not one of these commands"),
        }
        .expect("run the command");
        serde_json::from_slice(&output).expect("JSON")
    }

    fn codes(report: &Value) -> Vec<&str> {
        let findings = report["findings"].as_array().expect("findings");
        findings.iter().map(|finding| finding["code"].as_str().expect("a code")).collect()
    }

    #[test]
    fn the_demo_has_no_findings_at_any_start() {
        for now in ["2026-11-23T13:30:40Z", "2026-12-31T23:53:00Z", "2028-02-28T20:59:59Z"] {
            for pace in PACES {
                let all = documents(instant(now), pace);
                // The file of the scores suppresses a finding, because their status is applied separately.
                let report = command_output("validate", &all, &[], instant(now));
                assert_eq!(
                    (codes(&report), &report["ignored"]),
                    (vec![], &1.into()),
                    "{now} {pace:?}: {report:#}"
                );
                // A debug build needs a minute to simulate the scheduling every two minutes of two years.
                let is_slow =
                    |it: &&str| pace == DemoPace::Minutes && it.contains("ResourcePolicy");
                let quick: Vec<_> = all.split(SEPARATOR).filter(|it| !is_slow(it)).collect();
                let report = command_output("lint", &quick.join(SEPARATOR), &[], instant(now));
                assert_eq!(codes(&report), [""; 0], "{now} {pace:?}: {report:#}");
            }
        }
        let nodes = crate::processes::up::nodes_file::parse(&nodes());
        assert_eq!(nodes.expect("valid nodes").len(), 4);
    }

    /// The next actions, each with the minutes or hours after the start.
    fn upcoming(pace: DemoPace) -> Vec<String> {
        // The hour, or the day, ends within the period.
        let (now, step) = match pace {
            DemoPace::Minutes => ("2026-11-23T13:57:00Z", 60),
            DemoPace::Hours => ("2026-11-23T21:00:00Z", 3_600),
        };
        let period = format!("{}s", step * 10 - 1);
        let now = instant(now);
        let output = command_output("next", &documents(now, pace), &["--for", &period], now);
        let items = output["items"].as_array().expect("items").iter().map(|item| {
            let at = instant(item["at"].as_str().expect("an instant"));
            let word = |value: &Value| value.to_string().replace('"', "");
            let [kind, rule, what] =
                [&item["policy"]["kind"], &item["rule"], &item["what"]].map(word);
            let values = [&item["from"], &item["to"]].map(word).join(" → ");
            format!("{}: {kind} {rule} {what}: {values}", at.duration_since(now).as_secs() / step)
        });
        items.collect()
    }

    #[test]
    fn every_family_acts_within_five_minutes_and_again_later() {
        let expected = [
            "0: CronFederatedHPA quiet fires: 6 → 1",
            "1: MetricsProducer behaviors[0] opens: 1 → 4",
            "1: HorizontalAutoscaler metrics[0] scales: 1 → 4",
            "2: CronFederatedHPA busy fires: 1 → 6",
            "2: ResourcePolicy reserved overflows: {reserved:1,spot:0} → {reserved:4,spot:2}",
            "3: ConfigMap first-night opens: null → -1",
            "4: MetricsProducer behaviors[0] opens: 0 → 8",
            "4: CronFederatedHPA quiet fires: 6 → 1",
            "4: HorizontalAutoscaler metrics[0] scales: 4 → 8",
            "4: ResourcePolicy reserved suffices: {reserved:4,spot:2} → {reserved:1,spot:0}",
            "5: MetricsProducer behaviors[0] closes: 4 → 1",
            "5: ConfigMap first-night closes: -1 → null",
            "5: Placement AddOn/idle/cpu selects: [east,north] → [north,west]",
            "6: CronFederatedHPA busy fires: 1 → 6",
            "6: ResourcePolicy reserved overflows: {reserved:1,spot:0} → {reserved:4,spot:2}",
            "7: MetricsProducer behaviors[0] closes: 8 → 0",
            "7: HorizontalAutoscaler metrics[0] scales: 8 → 1",
            "8: CronFederatedHPA quiet fires: 6 → 1",
            "8: ResourcePolicy reserved suffices: {reserved:4,spot:2} → {reserved:1,spot:0}",
            "9: Placement AddOn/idle/cpu selects: [north,west] → [east,west]",
        ];
        for pace in PACES {
            assert_eq!(upcoming(pace), expected, "{pace:?}");
        }
    }

    #[test]
    fn a_namespace_comes_before_its_objects() {
        let mut namespaces = BTreeSet::new();
        let documents = documents(instant("2026-11-23T13:30:00Z"), DemoPace::Minutes);
        for document in documents.split(SEPARATOR) {
            let named = |key: &str| {
                let (_, rest) = document.split_once(&format!("{key}: "))?;
                rest.split([',', '}']).next()
            };
            if document.contains("kind: Namespace") {
                namespaces.extend(named("{name").map(str::to_owned));
            } else if let Some(namespace) = named(", namespace") {
                assert!(namespaces.contains(namespace), "{document}");
            }
        }
        assert_eq!(namespaces.len(), 5);
        let statuses = statuses(instant("2026-11-23T13:30:00Z"), DemoPace::Minutes);
        assert_eq!(statuses.matches("kind: AddOnPlacementScore").count(), 3);
        assert_eq!(statuses.matches("kind: ").count(), 3);
    }
}
