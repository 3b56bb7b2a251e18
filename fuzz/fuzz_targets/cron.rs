//! Cron: a schedule is parsed, described and fires, in a zone with clock changes.
#![no_main]

use std::sync::LazyLock;

use almanac_calendar::{Cron, Zone};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;

static ZONE: LazyLock<Zone> = LazyLock::new(|| "Europe/Berlin".parse().expect("parse the zone"));

fuzz_target!(|text: &str| {
    match Cron::parse(text) {
        Err(error) => drop(error.to_string()),
        Ok(cron) => {
            let _ = cron.describe();
            let firings = cron.in_zone(ZONE.clone());
            let _ = firings.next(Timestamp::UNIX_EPOCH);
            let _ = firings.previous(Timestamp::UNIX_EPOCH);
        }
    }
});
