//! Schedules of other schedulers: what they are called, and what to write instead. That it fires as often is
//! shown in `dialect_firings`.

use almanac_calendar::{Cron, CronErrorKind, CronNote};

fn told(text: &str) -> String {
    Cron::parse(text).expect_err(text).to_string()
}

/// A text, what is said about it, and what to write instead.
type Case = (&'static str, &'static str, Option<&'static str>);

const CASES: &[Case] = &[
    (
        "cron(0 10 * * ? *)",
        "this is EventBridge's dialect, with the year last; write 0 10 * * *",
        Some("0 10 * * *"),
    ),
    (
        "0 10 * * ? *",
        "this is EventBridge's dialect, with the year last; write 0 10 * * *",
        Some("0 10 * * *"),
    ),
    (
        "cron(0 18 ? * 2-6 *)",
        "this is EventBridge's dialect, with the year last, where weekdays count from 1 for \
             Sunday; write 0 18 * * mon-fri",
        Some("0 18 * * mon-fri"),
    ),
    (
        "cron(0/10 * ? * MON-FRI *)",
        "this is EventBridge's dialect, with the year last; write 0/10 * * * MON-FRI",
        Some("0/10 * * * MON-FRI"),
    ),
    (
        "0 12 25 12 ? 2026",
        "this is EventBridge's dialect, with the year last; five fields have no year, so 2026 \
             can't be kept",
        None,
    ),
    (
        "cron(0 8 * * MON-FRI)",
        "this is EventBridge's dialect, with the year last; write 0 8 * * MON-FRI",
        Some("0 8 * * MON-FRI"),
    ),
    (
        "rate(5 minutes)",
        "this is EventBridge's rate(…), which counts from when the rule was created; write */5 * * * *",
        Some("*/5 * * * *"),
    ),
    (
        "rate(7 minutes)",
        "this is EventBridge's rate(…), which counts from when the rule was created; no five fields fire at \
             that interval",
        None,
    ),
    (
        "rate(1 week)",
        "this is EventBridge's rate(…), which counts from when the rule was created; it takes a whole \
             number of minutes, hours or days, and at least one",
        None,
    ),
    (
        "rate(0 minutes)",
        "this is EventBridge's rate(…), which counts from when the rule was created; it takes a whole \
             number of minutes, hours or days, and at least one",
        None,
    ),
    (
        "at(2026-11-20T13:00:00)",
        "this is EventBridge's at(…); it fires once, which five fields can't say",
        None,
    ),
    (
        "0 0 12 * * ?",
        "this is Quartz's dialect, with seconds first; write 0 12 * * *",
        Some("0 12 * * *"),
    ),
    (
        "0 15 10 ? * 6L 2026-2028",
        "this is Quartz's dialect, with seconds first; `L` for the last day can't be said in five \
             fields",
        None,
    ),
    (
        "0 0 9 ? * 2-6 *",
        "this is Quartz's dialect, with seconds first, where weekdays count from 1 for Sunday; \
             write 0 9 * * mon-fri",
        Some("0 9 * * mon-fri"),
    ),
    (
        "0 0 9 ? * 2-6",
        "this is Quartz's dialect, with seconds first, where weekdays count from 1 for Sunday; \
             write 0 9 * * mon-fri; or a dialect with seconds first, such as Spring's; write \
             0 9 * * 2-6",
        None,
    ),
    (
        "0 0 22-2 ? NOV-FEB *",
        "this is Quartz's dialect, with seconds first; write 0 22-23,0-2 * nov-dec,jan-feb *",
        Some("0 22-23,0-2 * nov-dec,jan-feb *"),
    ),
    (
        "0 0 9 * * MON-FRI",
        "this is a dialect with seconds first, such as Spring's; write 0 9 * * MON-FRI",
        Some("0 9 * * MON-FRI"),
    ),
    (
        "0 0 12 L * *",
        "this is a dialect with seconds first, such as Spring's; `L` for the last day can't be said in five \
             fields",
        None,
    ),
    (
        "0 0 9 13 * FRI",
        "this is a dialect with seconds first, such as Spring's; it wants both the day of the \
             month and the weekday to match, where here one of them is enough, so that can't be kept",
        None,
    ),
    (
        "30 0 9 * * *",
        "this is a dialect with seconds first, such as Spring's; write 0 9 * * *; firings are on \
             whole minutes, so second 30 is dropped; or EventBridge's dialect, with the year last; \
             write 30 0 9 * *",
        None,
    ),
    (
        "*/10 * * * * *",
        "this is a dialect with seconds first, such as Spring's; cron fires at most once \
             a minute, on the minute",
        None,
    ),
    (
        "@every 6h",
        "this is @every, which counts from when the scheduler started; write 0 */6 * * *",
        Some("0 */6 * * *"),
    ),
    (
        "@every 90m",
        "this is @every, which counts from when the scheduler started; no five fields fire at \
             that interval",
        None,
    ),
    (
        "@every 30s",
        "this is @every, which counts from when the scheduler started; cron fires at most once a minute",
        None,
    ),
    (
        "CRON_TZ=Europe/Berlin 0 8 * * *",
        "a zone is not part of a cron expression; write 0 8 * * *, and Europe/Berlin as its time \
             zone",
        None,
    ),
    (
        "0 8 * * 1-5 # when the shop opens",
        "a comment is not part of a cron expression; write 0 8 * * 1-5",
        Some("0 8 * * 1-5"),
    ),
    (
        "0 8 * * 1-5; when the shop opens",
        "a comment is not part of a cron expression; write 0 8 * * 1-5",
        Some("0 8 * * 1-5"),
    ),
    ("0 8 * * *; 0 20 * * *", "a cron expression has five fields, this has ten", None),
    (
        "'0 8 * * 1-5'",
        "quotes are not part of a cron expression; write 0 8 * * 1-5",
        Some("0 8 * * 1-5"),
    ),
    (
        "\"0 22-2 * * *",
        "quotes are not part of a cron expression; write 0 22-23,0-2 * * *",
        Some("0 22-23,0-2 * * *"),
    ),
    (
        "TZ=Europe/Kyev 0 8 * * *",
        "a zone is not part of a cron expression, and `Europe/Kyev` is not an IANA time zone; the \
             nearest name is Europe/Kyiv",
        None,
    ),
    (
        "0 8 * * 1-5 root /usr/bin/scale",
        "a command is not part of a cron expression; write 0 8 * * 1-5",
        Some("0 8 * * 1-5"),
    ),
    (
        "0 10 * * * *",
        "this is a dialect with seconds first, such as Spring's; write 10 * * * *; or EventBridge's \
         dialect, with the year last; write 0 10 * * *",
        None,
    ),
    (
        "0 0 12 ? * FRIL",
        "this is Quartz's dialect, with seconds first; `L` for the last day can't be said in five fields",
        None,
    ),
    (
        "0 0 12 * * */2",
        "this is a dialect with seconds first, such as Spring's; schedulers disagree on which weekday a \
         step counts from; list the weekdays",
        None,
    ),
    (
        "0 10 * * * Monday",
        "this is a dialect with seconds first, such as Spring's; write 10 * * * mon",
        Some("10 * * * mon"),
    ),
    (
        "0 0 12 ? * MONDAY-Friday",
        "this is Quartz's dialect, with seconds first; write 0 12 * * mon-fri",
        Some("0 12 * * mon-fri"),
    ),
    (
        "cron(0 10 ? JANUARY Monday-Friday *)",
        "this is EventBridge's dialect, with the year last; write 0 10 * jan mon-fri",
        Some("0 10 * jan mon-fri"),
    ),
    (
        "0 0 22-2/2 * * ?",
        "this is Quartz's dialect, with seconds first; write 0 22,0,2 * * *",
        Some("0 22,0,2 * * *"),
    ),
    (
        "0 0 9 * * 7-2",
        "this is a dialect with seconds first, such as Spring's; write 0 9 * * 0-2",
        Some("0 9 * * 0-2"),
    ),
    (
        "0 0 12 * * ? */1",
        "this is Quartz's dialect, with seconds first; write 0 12 * * *",
        Some("0 12 * * *"),
    ),
    (
        "0 0 12 * * ? */2",
        "this is Quartz's dialect, with seconds first; five fields have no year, so */2 can't be kept",
        None,
    ),
    (
        "0 0 12 1/1 * ? *",
        "this is Quartz's dialect, with seconds first; write 0 12 * * *",
        Some("0 12 * * *"),
    ),
    (
        "0 0 9 1-31 * MON",
        "this is a dialect with seconds first, such as Spring's; write 0 9 * * MON",
        Some("0 9 * * MON"),
    ),
    (
        "0 0 12 31 2 ?",
        "this is Quartz's dialect, with seconds first; it never fires: no such date exists in \
         the given months",
        None,
    ),
    ("0 22-2/2 * * *", "the range 22-2 runs backwards; write 22,0,2", Some("0 22,0,2 * * *")),
    ("0 9 * * 7-2", "the range 7-2 runs backwards; write 0-2", Some("0 9 * * 0-2")),
    ("H 8 * * *", "`H` is Jenkins' word for any value; write a minute of your choice", None),
    ("H/15 * * * *", "`H` is Jenkins' word for any value; write */15", Some("*/15 * * * *")),
    (
        "H(0-29)/10 8 * * *",
        "`H` is Jenkins' word for any value; write 0-29/10",
        Some("0-29/10 8 * * *"),
    ),
    (
        "0 8 * * 1-5 Europe/Berlin",
        "a zone is not part of a cron expression; write 0 8 * * 1-5, and Europe/Berlin as its time zone",
        None,
    ),
    ("0 22-2 * * *", "the range 22-2 runs backwards; write 22-23,0-2", Some("0 22-23,0-2 * * *")),
    (
        "0 9 * * monday",
        "`monday` is too long for a name; write its three letters, mon",
        Some("0 9 * * mon"),
    ),
    ("@Daily", "macros are written in lower case; write @daily", Some("@daily")),
];

#[test]
fn other_dialects_are_named_and_translated() {
    for &(text, message, instead) in CASES {
        let error = Cron::parse(text).expect_err(text);
        assert_eq!(error.to_string(), message, "{text}");
        assert_eq!(error.instead(), instead, "{text}");
        if let Some(instead) = instead {
            assert!(Cron::parse(instead).is_ok(), "{instead}");
        }
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
    assert_eq!(told("0 25 * * * # late"), "hours run from 0 to 23, not 25");
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
        assert_eq!(told(text), format!("{event_bridge}{message}"), "{text}");
    }
    assert_eq!(told("0 25 0 0 0 0 0"), "a cron expression has five fields, this has seven");
    assert_eq!(Cron::parse("  0 25 * * * # late").unwrap_err().span(), 4..6);
    assert!(matches!(Cron::parse("@every").unwrap_err().kind(), CronErrorKind::Every));
}
