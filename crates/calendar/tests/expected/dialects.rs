//! Schedules of other schedulers: what they are called, and what to write instead. That it fires as often is
//! shown in `dialect_firings`.

use almanac_calendar::{Cron, CronErrorKind, CronNote};

fn message_of(text: &str) -> String {
    Cron::parse(text).expect_err(text).to_string()
}

const SPRING: &str = "this is a dialect with seconds first, such as Spring's";
const QUARTZ: &str = "this is Quartz's dialect, with seconds first";
const EVENT_BRIDGE: &str = "this is EventBridge's dialect, with the year last";
const RATE: &str = "this is EventBridge's rate(…), which counts from when the rule was created";
const EVERY: &str = "this is @every, which counts from when the scheduler started";
const A_ZONE: &str = "a zone is not part of a cron expression";

/// A text, the name of its dialect, and the whole expression to write instead, or the message if there is none.
type Translation = (&'static str, &'static str, Result<&'static str, &'static str>);

const TRANSLATIONS: &[Translation] = &[
    ("cron(0 10 * * ? *)", EVENT_BRIDGE, Ok("0 10 * * *")),
    ("0 10 * * ? *", EVENT_BRIDGE, Ok("0 10 * * *")),
    (
        "cron(0 18 ? * 2-6 *)",
        "this is EventBridge's dialect, with the year last, where weekdays count from 1 for Sunday",
        Ok("0 18 * * mon-fri"),
    ),
    ("cron(0/10 * ? * MON-FRI *)", EVENT_BRIDGE, Ok("0/10 * * * MON-FRI")),
    ("0 12 25 12 ? 2026", EVENT_BRIDGE, Err("five fields have no year, so 2026 can't be kept")),
    ("cron(0 8 * * MON-FRI)", EVENT_BRIDGE, Ok("0 8 * * MON-FRI")),
    ("rate(5 minutes)", RATE, Ok("*/5 * * * *")),
    ("rate(7 minutes)", RATE, Err("no five fields fire at that interval")),
    (
        "rate(1 week)",
        RATE,
        Err("it takes a whole number of minutes, hours or days, and at least one"),
    ),
    (
        "rate(0 minutes)",
        RATE,
        Err("it takes a whole number of minutes, hours or days, and at least one"),
    ),
    (
        "at(2026-11-20T13:00:00)",
        "this is EventBridge's at(…)",
        Err("it fires once, which five fields can't express"),
    ),
    ("0 0 12 * * ?", QUARTZ, Ok("0 12 * * *")),
    (
        "0 15 10 ? * 6L 2026-2028",
        QUARTZ,
        Err("`L` for the last day can't be expressed in five fields"),
    ),
    (
        "0 0 9 ? * 2-6 *",
        "this is Quartz's dialect, with seconds first, where weekdays count from 1 for Sunday",
        Ok("0 9 * * mon-fri"),
    ),
    (
        "0 0 9 ? * 2-6",
        "this is Quartz's dialect, with seconds first, where weekdays count from 1 for Sunday",
        Err("write 0 9 * * mon-fri; or a dialect with seconds first, such as Spring's; write \
             0 9 * * 2-6"),
    ),
    ("0 0 22-2 ? NOV-FEB *", QUARTZ, Ok("0 22-23,0-2 * nov-dec,jan-feb *")),
    ("0 0 9 * * MON-FRI", SPRING, Ok("0 9 * * MON-FRI")),
    ("0 0 12 L * *", SPRING, Err("`L` for the last day can't be expressed in five fields")),
    (
        "0 0 9 13 * FRI",
        SPRING,
        Err(
            "it requires both the day of the month and the weekday to match, but here one of them is \
             enough, so that can't be kept",
        ),
    ),
    (
        "30 0 9 * * *",
        SPRING,
        Err("write 0 9 * * *; firings are on whole minutes, so second 30 is dropped; or \
             EventBridge's dialect, with the year last; write 30 0 9 * *"),
    ),
    ("*/10 * * * * *", SPRING, Err("cron fires at most once a minute, on the minute")),
    ("@every 6h", EVERY, Ok("0 */6 * * *")),
    ("@every 90m", EVERY, Err("no five fields fire at that interval")),
    ("@every 30s", EVERY, Err("cron fires at most once a minute")),
    (
        "CRON_TZ=Europe/Berlin 0 8 * * *",
        A_ZONE,
        Err("write 0 8 * * *, and Europe/Berlin as its time zone"),
    ),
    (
        "0 8 * * 1-5 # when the shop opens",
        "a comment is not part of a cron expression",
        Ok("0 8 * * 1-5"),
    ),
    (
        "0 8 * * 1-5; when the shop opens",
        "a comment is not part of a cron expression",
        Ok("0 8 * * 1-5"),
    ),
    ("'0 8 * * 1-5'", "quotes are not part of a cron expression", Ok("0 8 * * 1-5")),
    ("\"0 22-2 * * *", "quotes are not part of a cron expression", Ok("0 22-23,0-2 * * *")),
    (
        "TZ=Europe/Kyev 0 8 * * *",
        "a zone is not part of a cron expression, and `Europe/Kyev` is not an IANA time zone",
        Err("the nearest name is Europe/Kyiv"),
    ),
    (
        "0 8 * * 1-5 root /usr/bin/scale",
        "a command is not part of a cron expression",
        Ok("0 8 * * 1-5"),
    ),
    (
        "0 10 * * * *",
        SPRING,
        Err("write 10 * * * *; or EventBridge's dialect, with the year last; write 0 10 * * *"),
    ),
    ("0 0 12 ? * FRIL", QUARTZ, Err("`L` for the last day can't be expressed in five fields")),
    (
        "0 0 12 * * */2",
        SPRING,
        Err("schedulers disagree on which weekday a step counts from; list the weekdays"),
    ),
    ("0 10 * * * Monday", SPRING, Ok("10 * * * mon")),
    ("0 0 12 ? * MONDAY-Friday", QUARTZ, Ok("0 12 * * mon-fri")),
    ("cron(0 10 ? JANUARY Monday-Friday *)", EVENT_BRIDGE, Ok("0 10 * jan mon-fri")),
    ("0 0 22-2/2 * * ?", QUARTZ, Ok("0 22,0,2 * * *")),
    ("0 0 9 * * 7-2", SPRING, Ok("0 9 * * 0-2")),
    ("0 0 12 * * ? */1", QUARTZ, Ok("0 12 * * *")),
    ("0 0 12 * * ? */2", QUARTZ, Err("five fields have no year, so */2 can't be kept")),
    ("0 0 12 1/1 * ? *", QUARTZ, Ok("0 12 * * *")),
    ("0 0 9 1-31 * MON", SPRING, Ok("0 9 * * MON")),
    ("0 0 12 31 2 ?", QUARTZ, Err("it never fires: no such date exists in the given months")),
    (
        "0 8 * * 1-5 Europe/Berlin",
        A_ZONE,
        Err("write 0 8 * * 1-5, and Europe/Berlin as its time zone"),
    ),
    ("@Daily", "macros are written in lower case", Ok("@daily")),
];

/// Texts of which one field is wrong, the message about it, and the whole expression to write instead.
const WRONG_FIELDS: &[(&str, &str, Option<&str>)] = &[
    ("0 8 * * *; 0 20 * * *", "a cron expression has five fields, this has ten", None),
    ("0 22-2/2 * * *", "the range 22-2 runs backwards; write 22,0,2", Some("0 22,0,2 * * *")),
    ("0 9 * * 7-2", "the range 7-2 runs backwards; write 0-2", Some("0 9 * * 0-2")),
    ("H 8 * * *", "`H` means any value in Jenkins; write a minute of your choice", None),
    ("H/15 * * * *", "`H` means any value in Jenkins; write */15", Some("*/15 * * * *")),
    (
        "H(0-29)/10 8 * * *",
        "`H` means any value in Jenkins; write 0-29/10",
        Some("0-29/10 8 * * *"),
    ),
    ("0 22-2 * * *", "the range 22-2 runs backwards; write 22-23,0-2", Some("0 22-23,0-2 * * *")),
    (
        "0 9 * * monday",
        "`monday` is too long for a name; write its three letters, mon",
        Some("0 9 * * mon"),
    ),
];

fn assert_message(text: &str, message: &str, instead: Option<&str>) {
    let error = Cron::parse(text).expect_err(text);
    assert_eq!(error.to_string(), message, "{text}");
    assert_eq!(error.instead(), instead, "{text}");
    if let Some(instead) = instead {
        assert!(Cron::parse(instead).is_ok(), "{instead}");
    }
}

#[test]
fn other_dialects_are_named_and_translated() {
    for &(text, what, translation) in TRANSLATIONS {
        let advice = match translation {
            Ok(instead) => format!("write {instead}"),
            Err(reason) => reason.to_owned(),
        };
        assert_message(text, &format!("{what}; {advice}"), translation.ok());
    }
    for &(text, message, instead) in WRONG_FIELDS {
        assert_message(text, message, instead);
    }
}

#[test]
fn an_unlikely_meaning_is_noted() {
    let either = "it names days of the month and weekdays, and fires on a date that matches either of \
                  them";
    let from_one = "`?` comes from Quartz or EventBridge, which count weekdays from 1 for Sunday: `2-6` is \
                    tue-sat here, and mon-fri there";
    let cases: [(&str, &[&str]); 14] = [
        ("0 12 ? * 2-6", &[from_one]),
        ("0 12 ? * mon-fri", &[]),
        ("0 12 ? * 1-7", &[]),
        ("0 12 ? * 0", &[]),
        ("0 12 * * 2-6", &[]),
        ("*/90 * * * *", &["a step of 90 reaches no second value: `*/90` is minute 0"]),
        ("5,30/60 * * * *", &["a step of 60 reaches no second value: `30/60` is minute 30"]),
        ("0 9-17/9 * * *", &["a step of 9 reaches no second value: `9-17/9` is hour 9"]),
        ("0 0 */31 * *", &["a step of 31 reaches no second value: `*/31` is day 1"]),
        ("0 0 1 mar/12 *", &["a step of 12 reaches no second value: `mar/12` is March"]),
        ("0 0 * * */7", &["a step of 7 reaches no second value: `*/7` is Sunday"]),
        ("0 0 13 * 5", &[either]),
        ("0 0 1-31 * 5", &[]),
        ("nonsense", &[]),
    ];
    for (text, expected) in cases {
        let notes: Vec<String> = CronNote::all(text).iter().map(ToString::to_string).collect();
        assert_eq!(notes, expected, "{text}");
    }
}

#[test]
fn an_error_before_a_comment_or_inside_a_call_is_reported_first() {
    assert_eq!(message_of("0 25 * * * # late"), "hours run from 0 to 23, not 25");
    let event_bridge = "this is EventBridge's dialect, with the year last; ";
    for (text, message) in [
        ("cron(0 25 ? * * *)", "hours run from 0 to 23, not 25"),
        ("cron(0 25 * * *)", "hours run from 0 to 23, not 25"),
        (
            "cron(0 8 * * 1-5)",
            "without a year field it is unclear whether weekday 1 is Sunday or Monday",
        ),
        ("cron(0 8 * *)", "it takes six fields, and these are not valid there"),
    ] {
        assert_eq!(message_of(text), format!("{event_bridge}{message}"), "{text}");
    }
    assert_eq!(message_of("0 25 0 0 0 0 0"), "a cron expression has five fields, this has seven");
    assert_eq!(Cron::parse("  0 25 * * * # late").unwrap_err().span(), 4..6);
    assert!(matches!(Cron::parse("@every").unwrap_err().kind(), CronErrorKind::Every));
}
