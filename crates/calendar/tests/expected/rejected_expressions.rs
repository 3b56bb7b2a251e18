//! Every rule by which a cron expression is rejected: the whole message, and the place it points at.

use almanac_calendar::Cron;

/// The expression is rejected with this message, which points at `place` in it.
fn assert_cron(text: &str, place: &str, message: &str) {
    let error = Cron::parse(text).expect_err(text);
    assert_eq!(error.to_string(), message, "{text}");
    assert_eq!(&text[error.span()], place, "the place in {text}");
}

#[test]
fn six_fields_are_read_as_another_dialect() {
    assert_cron(
        "0 0 9 * * *",
        "0 0 9 * * *",
        "this is a dialect with seconds first, such as Spring's; write 0 9 * * *; or EventBridge's \
         dialect, with the year last; write 0 0 9 * *",
    );
}

#[test]
fn seven_fields_are_read_as_another_dialect() {
    assert_cron(
        "0 0 9 * * * 2026",
        "0 0 9 * * * 2026",
        "this is Quartz's dialect, with seconds first; five fields have no year, so 2026 can't be \
         kept",
    );
}

#[test]
fn any_other_number_of_fields_is_stated() {
    assert_cron(
        "",
        "",
        "a cron expression has five fields, this has none; \
         write minute, hour, day of month, month and weekday",
    );
    assert_cron("0 9 * *", "0 9 * *", "a cron expression has five fields, this has four");
    assert_cron("09:00", "09:00", "a cron expression has five fields, this has one");
    assert_cron(
        "1 2 3 4 5 6 7 8",
        "1 2 3 4 5 6 7 8",
        "a cron expression has five fields, this has eight",
    );
}

#[test]
fn every_is_rejected() {
    assert_cron(
        "@every 5m",
        "@every 5m",
        "this is @every, which counts from when the scheduler started; write */5 * * * *",
    );
    assert_cron(
        "@every now and then",
        "@every now and then",
        "@every has no fixed start, so its firings would depend on when the scheduler started; \
         write the minutes they fall on, such as */5 * * * *",
    );
}

#[test]
fn reboot_is_rejected() {
    assert_cron(
        "@reboot",
        "@reboot",
        "@reboot names no time; write the minute and hour it should run at, such as 0 4 * * *",
    );
}

#[test]
fn macros_are_known_and_in_lower_case() {
    assert_cron("@Daily", "@Daily", "macros are written in lower case; write @daily");
    assert_cron(
        "@fortnightly",
        "@fortnightly",
        "`@fortnightly` is not a macro; the macros are @yearly, @annually, @monthly, @weekly, @daily, \
         @midnight and @hourly",
    );
}

#[test]
fn a_tz_prefix_is_pointed_to_the_time_zone_field() {
    assert_cron(
        "TZ=UTC 0 9 * * *",
        "TZ=UTC",
        "a zone is not part of a cron expression; write 0 9 * * *, and UTC as its time zone",
    );
}

#[test]
fn a_cron_tz_prefix_is_pointed_to_the_time_zone_field() {
    assert_cron(
        "CRON_TZ=Europe/Berlin @daily",
        "CRON_TZ=Europe/Berlin",
        "a zone is not part of a cron expression; write @daily, and Europe/Berlin as its time zone",
    );
}

#[test]
fn an_error_between_quotes_is_pointed_at() {
    assert_cron("'0 25 * * *'", "25", "hours run from 0 to 23, not 25");
}

#[test]
fn the_last_day_is_not_in_this_dialect() {
    let message = "`L` for the last day can't be expressed in five fields";
    assert_cron("0 0 L * *", "L", message);
    assert_cron("0 0 * * 5L", "5L", message);
}

#[test]
fn the_nearest_weekday_is_not_in_this_dialect() {
    assert_cron(
        "0 0 15W * *",
        "15W",
        "`W` for the nearest weekday can't be expressed in five fields",
    );
}

#[test]
fn the_nth_weekday_is_not_in_this_dialect() {
    let message = "`#` for the nth weekday of a month can't be expressed in five fields";
    assert_cron("0 0 * * fri#2", "fri#2", message);
    assert_cron("0 0 * * 5#2", "5#2", message);
}

#[test]
fn an_empty_list_item_is_pointed_at() {
    let message = "the list has an empty item; remove the extra comma";
    for text in ["0 9, * * *", "0 ,9 * * *", "0 9,,10 * * *", ", 9 * * *", "0 9 * * mon,"] {
        assert_cron(text, "", message);
    }
    assert_eq!(Cron::parse("0 9,,10 * * *").unwrap_err().span(), 4..4);
}

#[test]
fn a_wrap_around_range_is_shown_as_two() {
    assert_cron("0 22-6 * * *", "22-6", "the range 22-6 runs backwards; write 22-23,0-6");
    assert_cron(
        "0 0 * * fri-mon",
        "fri-mon",
        "the range fri-mon runs backwards; write fri-sat,sun-mon",
    );
    assert_cron("0 0 * * sat-sun", "sat-sun", "the range sat-sun runs backwards; write sat,sun");
    assert_cron("0 0 * * 5-0", "5-0", "the range 5-0 runs backwards; write 5-7");
    assert_cron(
        "0 0 * nov-feb *",
        "nov-feb",
        "the range nov-feb runs backwards; write nov-dec,jan-feb",
    );
}

#[test]
fn a_value_out_of_range_is_named_with_the_range() {
    assert_cron("60 * * * *", "60", "minutes run from 0 to 59, not 60");
    assert_cron("0 1,24 * * *", "24", "hours run from 0 to 23, not 24");
    assert_cron("0 0 0-5 * *", "0", "days of the month run from 1 to 31, not 0");
    assert_cron("0 0 32 * *", "32", "days of the month run from 1 to 31, not 32");
    assert_cron("0 0 * 13 *", "13", "months run from 1 to 12, not 13");
    assert_cron("0 0 * * 5-8", "8", "weekdays run from 0 to 7 (0 and 7 are Sunday), not 8");
    let huge = "99999999999999999999";
    assert_cron(&format!("{huge} * * * *"), huge, &format!("minutes run from 0 to 59, not {huge}"));
}

#[test]
fn a_step_is_a_number_of_at_least_one() {
    assert_cron("*/0 * * * *", "0", "a step of 0 never advances; write a step of at least 1");
    assert_cron("*/ * * * *", "", "a step is missing; write a number after the slash, such as */5");
    assert_cron("*/x * * * *", "x", "`x` is not a step; write a number, such as */5");
}

#[test]
fn a_range_has_two_ends() {
    let message = "a range has two ends, such as 1-5";
    assert_cron("1-2-3 * * * *", "2-3", message);
    assert_cron("5- * * * *", "", message);
    assert_cron("-5 * * * *", "", message);
}

#[test]
fn a_star_stands_alone() {
    assert_cron(
        "0 9 *5 * *",
        "*5",
        "`*5` mixes a star with something else; a star is used alone or with a step, such as */5",
    );
}

#[test]
fn an_invalid_value_is_answered_with_valid_ones() {
    assert_cron("x 9 * * *", "x", "`x` is not a minute; write 0 to 59");
    assert_cron("+5 9 * * *", "+5", "`+5` is not a minute; write 0 to 59");
    assert_cron("0 mon * * *", "mon", "`mon` is not an hour; write 0 to 23");
    assert_cron("0 9 mon * *", "mon", "`mon` is not a day of the month; write 1 to 31");
    assert_cron("0 9 * mon *", "mon", "`mon` is not a month; write 1 to 12 or jan to dec");
    assert_cron(
        "0 9 * * jan",
        "jan",
        "`jan` is not a weekday; write 0 to 7 (0 and 7 are Sunday) or sun to sat",
    );
    assert_cron("0 ٣ * * *", "٣", "`٣` is not an hour; write 0 to 23");
    assert_cron("0 9 * * Sunn", "Sunn", "`Sunn` is not a weekday; did you mean sun?");
    assert_cron("0 9 * * tues", "tues", "`tues` is not a weekday; did you mean tue?");
    assert_cron("0 9 * sept *", "sept", "`sept` is not a month; did you mean sep?");
    assert_cron(
        "0 9 * * wendesday",
        "wendesday",
        "`wendesday` is not a weekday; did you mean wed?",
    );
    assert_cron(
        "0 9 * * monday",
        "monday",
        "`monday` is too long for a name; write its three letters, mon",
    );
}

#[test]
fn an_expression_that_never_fires_points_at_its_days_and_months() {
    let message =
        "it never fires: no such date exists in the given months; write a date that exists";
    assert_cron("0 0 31 2 *", "31 2", message);
    assert_cron("0 0 30,31 feb ?", "30,31 feb", message);
    assert_cron("0 0 31 2,4,6,9,11 *", "31 2,4,6,9,11", message);
    // A weekday is an alternative, and comes every week.
    assert!(Cron::parse("0 0 31 2 mon").is_ok());
}
