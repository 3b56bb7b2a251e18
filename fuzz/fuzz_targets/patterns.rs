//! Patterns of times, one field on each line, daily windows and patterns of names.
#![no_main]

use almanac_calendar::{DailyWindow, Pattern, PatternText};
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../crates/cli/src/pattern.rs"]
mod names;

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n').map(|line| (!line.is_empty()).then_some(line));
    let mut field = || lines.next().flatten();
    let text = PatternText {
        minutes: field(),
        hours: field(),
        days: field(),
        months: field(),
        weekdays: field(),
        years: field(),
    };
    match Pattern::parse(text) {
        Ok(pattern) => drop(pattern.describe()),
        Err(error) => drop(error.to_string()),
    }
    let _ = DailyWindow::parse(text.minutes.unwrap_or_default(), text.hours.unwrap_or_default());
    if let Ok(pattern) = names::Pattern::new(text.minutes.unwrap_or_default()) {
        let _ = pattern.matches(text.hours.unwrap_or_default());
    }
});
