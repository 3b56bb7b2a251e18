//! Every rule by which a daily window or a pattern is rejected, with the whole message.

use almanac_calendar::{DailyWindow, Pattern, PatternText, PatternWindow};

const NO_FIELDS: PatternText<'static> = PatternText {
    minutes: None,
    hours: None,
    days: None,
    months: None,
    weekdays: None,
    years: None,
};

fn assert_start(text: &str, message: &str) {
    assert_eq!(DailyWindow::parse(text, "06:30").expect_err(text).to_string(), message);
}

fn assert_end(text: &str, message: &str) {
    assert_eq!(DailyWindow::parse("06:30", text).expect_err(text).to_string(), message);
}

fn assert_pattern(texts: PatternText<'_>, message: &str) {
    assert_eq!(Pattern::parse(texts).expect_err(message).to_string(), message, "{texts:?}");
}

#[test]
fn a_daily_time_is_written_with_two_digits_each() {
    for text in ["0900", "09:00:00", "9 o'clock", "09.00", "٠٩:00", "-9:00"] {
        let message = format!("`{text}` is not a time of day; write two digits each, as in 08:00");
        assert_start(text, &message);
        assert_end(text, &message);
    }
    assert_start("9:00", "`9:00` is not a time of day; write 09:00");
    assert_start(" 09:00", "` 09:00` is not a time of day; write 09:00");
    assert_start("9am", "`9am` is not a time of day; write 09:00");
    assert_start("12:30 PM", "`12:30 PM` is not a time of day; write 12:30");
    assert_start("09:0", "`09:0` is not a time of day; write 09:00");
    assert_end("", "a time of day is missing; write two digits each, as in 08:00");
}

#[test]
fn one_digit_of_a_minute_may_mean_several_times() {
    for text in ["8.5pm", "8:5pm", "8.5 PM", "09:5", "8:3"] {
        let message = format!("`{text}` is not a time of day; write two digits each, as in 08:00");
        assert_start(text, &message);
        assert_end(text, &message);
    }
    assert_start("8.0pm", "`8.0pm` is not a time of day; write 20:00");
    assert_start("8.30pm", "`8.30pm` is not a time of day; write 20:30");
    let half_past = PatternText { hours: Some("8.5pm"), ..NO_FIELDS };
    assert_eq!(Pattern::parse(half_past).unwrap_err().time_of_day(), None);
}

#[test]
fn a_daily_time_exists() {
    assert_start("25:00", "`25:00` is not a time of day; hours run from 00 to 23");
    assert_start("09:60", "`09:60` is not a time of day; minutes run from 00 to 59");
    assert_end(
        "24:01",
        "`24:01` is not a time of day; hours run from 00 to 23, and 24:00 is the end of the day",
    );
}

#[test]
fn a_day_ends_at_twenty_four_but_does_not_start_there() {
    assert_start("24:00", "24:00 is the end of a day, so a window cannot start then; write 00:00");
    assert!(DailyWindow::parse("06:30", "24:00").is_ok());
}

#[test]
fn a_daily_window_does_not_end_when_it_starts() {
    assert_end("06:30", "the window ends when it starts; for the whole day write 00:00 and 24:00");
    assert!(DailyWindow::parse("00:00", "24:00").is_ok());
}

#[test]
fn a_pattern_takes_no_ranges() {
    assert_pattern(
        PatternText { weekdays: Some("Mon-Fri"), ..NO_FIELDS },
        "`Mon-Fri` is a range, and a pattern takes lists; write Mon,Tue,Wed,Thu,Fri",
    );
    assert_pattern(
        PatternText { days: Some("1-7"), ..NO_FIELDS },
        "`1-7` is a range, and a pattern takes lists; write 1,2,3,4,5,6,7",
    );
    assert_pattern(
        PatternText { months: Some("Jan-Mar"), ..NO_FIELDS },
        "`Jan-Mar` is a range, and a pattern takes lists; write Jan,Feb,Mar",
    );
}

#[test]
fn a_pattern_takes_no_stars_and_no_steps() {
    for text in ["*", "*/5", "?"] {
        assert_pattern(
            PatternText { hours: Some(text), ..NO_FIELDS },
            "a pattern takes no stars; write the hours with commas between them (left out they \
             are 0)",
        );
    }
}

#[test]
fn a_pattern_has_no_empty_items() {
    for text in ["1,,2", ",1", "1,", "1, ,2"] {
        assert_pattern(
            PatternText { minutes: Some(text), ..NO_FIELDS },
            "the list has an empty item; remove the extra comma",
        );
    }
    assert_pattern(
        PatternText { minutes: Some(""), ..NO_FIELDS },
        "the list of minutes is empty; leave minutes out for 0",
    );
}

#[test]
fn a_pattern_value_is_in_its_range() {
    for (texts, message) in [
        (PatternText { minutes: Some("60"), ..NO_FIELDS }, "minutes run from 0 to 59, not 60"),
        (PatternText { hours: Some("24"), ..NO_FIELDS }, "hours run from 0 to 23, not 24"),
        (PatternText { days: Some("0"), ..NO_FIELDS }, "days run from 1 to 31, not 0"),
        (PatternText { months: Some("13"), ..NO_FIELDS }, "months run from 1 to 12, not 13"),
        (
            PatternText { weekdays: Some("8"), ..NO_FIELDS },
            "weekdays run from 0 to 7 (0 and 7 are Sunday), not 8",
        ),
        (PatternText { years: Some("26"), ..NO_FIELDS }, "years run from 1970 to 2999, not 26"),
    ] {
        assert_pattern(texts, message);
    }
}

#[test]
fn a_pattern_value_is_a_number_or_a_name() {
    for (texts, message) in [
        (
            PatternText { minutes: Some("x"), ..NO_FIELDS },
            "`x` is not one of the minutes; write 0 to 59",
        ),
        (
            PatternText { days: Some("31st"), ..NO_FIELDS },
            "`31st` is not one of the days; write 1 to 31",
        ),
        (
            PatternText { months: Some("Janu"), ..NO_FIELDS },
            "`Janu` is not one of the months; did you mean Jan?",
        ),
        (
            PatternText { weekdays: Some("Thurs"), ..NO_FIELDS },
            "`Thurs` is not one of the weekdays; did you mean Thu?",
        ),
        (
            PatternText { months: Some("first"), ..NO_FIELDS },
            "`first` is not one of the months; write 1 to 12 or names, such as Jan",
        ),
        (
            PatternText { weekdays: Some("workday"), ..NO_FIELDS },
            "`workday` is not one of the weekdays; write 0 to 7 (0 and 7 are Sunday) or names, such as Mon",
        ),
    ] {
        assert_pattern(texts, message);
    }
}

#[test]
fn a_pattern_that_never_fires_is_rejected() {
    let message = "it never fires: no date has all of these days, months, weekdays and years; \
                   write a date that exists";
    let leap_day = PatternText { days: Some("29"), months: Some("Feb"), ..NO_FIELDS };
    assert_pattern(PatternText { days: Some("31"), ..leap_day }, message);
    assert_pattern(PatternText { days: Some("30,31"), weekdays: Some("mon"), ..leap_day }, message);
    assert_pattern(PatternText { years: Some("2025,2026,2027"), ..leap_day }, message);
    // 24 December 2026 is a Thursday.
    let friday = PatternText {
        days: Some("24"),
        months: Some("dec"),
        weekdays: Some("fri"),
        years: Some("2026"),
        ..NO_FIELDS
    };
    assert_pattern(friday, message);
    assert!(Pattern::parse(PatternText { weekdays: Some("thu"), ..friday }).is_ok());
    assert!(Pattern::parse(PatternText { weekdays: Some("mon"), ..leap_day }).is_ok());
}

#[test]
fn a_pattern_window_whose_start_is_always_its_end_is_rejected() {
    let message = "start and end are always the same instant, so the window has no length; \
                   write an end that differs from the start";
    let nine_on = |weekdays| PatternText { hours: Some("9"), weekdays, ..NO_FIELDS };
    for (start, end) in [
        (NO_FIELDS, NO_FIELDS),
        (nine_on(None), nine_on(None)),
        (nine_on(Some("0")), nine_on(Some("Sunday, 7"))),
        (nine_on(None), nine_on(Some("0,1,2,3,4,5,6"))),
    ] {
        let start = Pattern::parse(start).unwrap();
        let end = Pattern::parse(end).unwrap();
        let error = PatternWindow::new(start, end).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    // They coincide on Mondays only: from there it stays open until a day that is no Monday.
    let start = Pattern::parse(nine_on(Some("mon"))).unwrap();
    let end = Pattern::parse(nine_on(None)).unwrap();
    assert!(PatternWindow::new(start, end).is_ok());
}
