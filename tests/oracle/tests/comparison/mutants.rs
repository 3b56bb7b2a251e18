//! Proof that the comparison can fail: the comparison must catch a calendar with one fault, or with slightly different
//! arguments. The same case without the fault must pass.

use jiff::{SignedDuration, Timestamp};

use crate::case::Case;
use crate::run::difference_to;
use crate::subject::{Fires, Opens, Subject, Turn, calendar};

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

fn case(line: &str) -> Case {
    line.parse().unwrap()
}

/// The calendar agrees on `case`, and does not agree if it reads `instead`.
fn assert_caught(line: &str, instead: &str) {
    let (case, other) = (case(line), self::case(instead));
    let right = calendar(&case.zone, &case.schedule).unwrap();
    assert_eq!(difference_to(&case, &right), Ok(()), "{line}");
    let wrong = calendar(&other.zone, &other.schedule).unwrap();
    assert!(difference_to(&case, &wrong).is_err(), "{line} passes as {instead}");
}

#[test]
fn a_schedule_off_by_a_minute_is_caught() {
    assert_caught("Asia/Kathmandu 1999 cron 0 9 1 1 *", "Asia/Kathmandu 1999 cron 1 9 1 1 *");
    assert_caught("Asia/Kathmandu 1999 daily 22:00 06:00", "Asia/Kathmandu 1999 daily 22:00 06:01");
    assert_caught(
        "Asia/Kathmandu 1999 pattern hours=9; weekdays=Mon -> hours=17",
        "Asia/Kathmandu 1999 pattern hours=9; weekdays=Mon -> minutes=1; hours=17",
    );
}

#[test]
fn another_reading_of_a_fold_is_caught() {
    // The same minutes, but the second schedule follows the clock: one more firing a year.
    assert_caught(
        "America/New_York 2026 cron 30 1 * * *",
        "America/New_York 2026 cron 30/59 1 * * *",
    );
}

#[test]
fn another_reading_of_a_gap_is_caught() {
    assert_caught("Europe/Berlin 2026 cron 30 2 * 3 *", "Europe/Berlin 2026 cron 30/59 2 * 3 *");
}

#[test]
fn a_neighboring_zone_is_caught() {
    // Havana and New York keep the same offset but for a few hours a year.
    assert_caught("America/Havana 2024 cron 30 0 * * *", "America/New_York 2024 cron 30 0 * * *");
    assert_caught(
        "America/Havana 2024 daily 23:30 00:30",
        "America/New_York 2024 daily 23:30 00:30",
    );
}

#[test]
fn days_and_weekdays_joined_the_other_way_are_caught() {
    assert_caught("UTC 2026 cron 0 9 13 * 5", "UTC 2026 cron 0 9 13 * *");
    assert_caught(
        "UTC 2026 pattern days=13; weekdays=5 -> hours=17",
        "UTC 2026 pattern days=13 -> hours=17",
    );
}

#[test]
fn a_rare_event_decades_away_is_caught() {
    // Nothing fires in these years: only the firings before and after distinguish the schedules.
    assert_caught("UTC 2097 cron 0 0 29 2 *", "UTC 2097 cron 0 1 29 2 *");
    assert_caught(
        "UTC 2075 pattern days=29; months=2; weekdays=1 -> days=1; months=3",
        "UTC 2075 pattern days=29; months=2; weekdays=2 -> days=1; months=3",
    );
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    NextIncludesNow,
    PreviousExcludesNow,
    ListExcludesItsStart,
    ListIncludesItsEnd,
    ShortestIntervalOfTheFirstTwo,
    NextIsNeverFar,
    PreviousIsNeverFar,
    StateIsLateByANanosecond,
}

struct FaultyFirings(Box<dyn Fires>, Fault);

impl Fires for FaultyFirings {
    fn next(&self, now: Timestamp) -> Option<Timestamp> {
        match self.1 {
            Fault::NextIncludesNow => self.0.next(now - NANOSECOND),
            Fault::NextIsNeverFar => self.0.next(now).filter(|&at| at < now + YEAR),
            _ => self.0.next(now),
        }
    }

    fn previous(&self, now: Timestamp) -> Option<Timestamp> {
        match self.1 {
            Fault::PreviousExcludesNow => self.0.previous(now - NANOSECOND),
            Fault::PreviousIsNeverFar => self.0.previous(now).filter(|&at| at > now - YEAR),
            _ => self.0.previous(now),
        }
    }

    fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
        match self.1 {
            Fault::ListExcludesItsStart => self.0.between(from + NANOSECOND, to),
            Fault::ListIncludesItsEnd => self.0.between(from, to + NANOSECOND),
            _ => self.0.between(from, to),
        }
    }

    fn shortest_interval(&self, from: Timestamp, to: Timestamp) -> Option<SignedDuration> {
        match self.1 {
            Fault::ShortestIntervalOfTheFirstTwo => {
                let first = self.0.next(from)?;
                Some(first.duration_until(self.0.next(first)?))
            }
            _ => self.0.shortest_interval(from, to),
        }
    }
}

struct FaultyWindows(Box<dyn Opens>, Fault);

impl Opens for FaultyWindows {
    fn is_open(&self, now: Timestamp) -> bool {
        match self.1 {
            Fault::StateIsLateByANanosecond => self.0.is_open(now - NANOSECOND),
            _ => self.0.is_open(now),
        }
    }

    fn next(&self, now: Timestamp) -> Option<Turn> {
        match self.1 {
            Fault::NextIncludesNow => self.0.next(now - NANOSECOND),
            Fault::NextIsNeverFar => self.0.next(now).filter(|turn| turn.0 < now + YEAR),
            _ => self.0.next(now),
        }
    }

    fn previous(&self, now: Timestamp) -> Option<Turn> {
        match self.1 {
            Fault::PreviousExcludesNow => self.0.previous(now - NANOSECOND),
            Fault::PreviousIsNeverFar => self.0.previous(now).filter(|turn| turn.0 > now - YEAR),
            _ => self.0.previous(now),
        }
    }

    fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Turn> {
        match self.1 {
            Fault::ListExcludesItsStart => self.0.between(from + NANOSECOND, to),
            Fault::ListIncludesItsEnd => self.0.between(from, to + NANOSECOND),
            _ => self.0.between(from, to),
        }
    }
}

const YEAR: SignedDuration = SignedDuration::from_hours(366 * 24);

fn with_fault(case: &Case, fault: Fault) -> Subject {
    match calendar(&case.zone, &case.schedule).unwrap() {
        Subject::Fires(subject) => Subject::Fires(Box::new(FaultyFirings(subject, fault))),
        Subject::Opens(subject) => Subject::Opens(Box::new(FaultyWindows(subject, fault))),
    }
}

fn assert_fault_caught(line: &str, fault: Fault) {
    let case = case(line);
    assert!(difference_to(&case, &with_fault(&case, fault)).is_err(), "{fault:?} passes in {line}");
}

#[test]
fn every_fault_of_firings_is_caught() {
    let line = "Europe/Berlin 2026 cron 0,20,30 0,12 * * *";
    for fault in [
        Fault::NextIncludesNow,
        Fault::PreviousExcludesNow,
        Fault::ListExcludesItsStart,
        Fault::ListIncludesItsEnd,
        Fault::ShortestIntervalOfTheFirstTwo,
    ] {
        assert_fault_caught(line, fault);
    }
    for fault in [Fault::NextIsNeverFar, Fault::PreviousIsNeverFar] {
        assert_fault_caught("Europe/Berlin 2026 cron 0 0 29 2 *", fault);
    }
}

#[test]
fn every_fault_of_windows_is_caught() {
    let line = "Europe/Berlin 2026 daily 01:00 13:00";
    for fault in
        [Fault::NextIncludesNow, Fault::PreviousExcludesNow, Fault::StateIsLateByANanosecond]
    {
        assert_fault_caught(line, fault);
    }
    // Only a stretch that starts and ends on a transition shows the fault: midnight in UTC is an end of the year.
    for fault in [Fault::ListExcludesItsStart, Fault::ListIncludesItsEnd] {
        assert_fault_caught("UTC 2026 daily 00:00 13:00", fault);
    }
    for fault in [Fault::NextIsNeverFar, Fault::PreviousIsNeverFar] {
        assert_fault_caught("UTC 2026 pattern days=29; months=2 -> days=1; months=3", fault);
    }
}
