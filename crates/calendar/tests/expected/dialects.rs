//! Schedules of other schedulers: what they are called, what to write instead, and that it fires as
//! often as the original, by an evaluation of its own that counts seconds.

use almanac_calendar::{Cron, CronErrorKind, CronNote, Zone};
use proptest::prelude::*;
use proptest::sample::select;

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
        "this is EventBridge's rate(…), which counts from when it was made; write */5 * * * *",
        Some("*/5 * * * *"),
    ),
    (
        "rate(7 minutes)",
        "this is EventBridge's rate(…), which counts from when it was made; no five fields run \
             at that interval",
        None,
    ),
    (
        "at(2026-11-20T13:00:00)",
        "this is EventBridge's at(…); it happens once, which five fields can't say",
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
        "this is EventBridge's dialect, with the year last; write 30 0 9 * *; or a dialect with \
             seconds first, such as Spring's; write 0 9 * * *, for a run starts with its minute and \
             second 30 can't be kept",
        None,
    ),
    (
        "*/10 * * * * *",
        "this is a dialect with seconds first, such as Spring's; a run starts with its minute, so \
             only one a minute can be kept",
        None,
    ),
    (
        "@every 6h",
        "this is @every, which counts from when it was read; write 0 */6 * * *",
        Some("0 */6 * * *"),
    ),
    (
        "@every 90m",
        "this is @every, which counts from when it was read; no five fields run at \
             that interval",
        None,
    ),
    (
        "@every 30s",
        "this is @every, which counts from when it was read; nothing here runs more often than \
             every minute",
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
    ("0 10 * * * Monday", "a cron expression has five fields, this has six", None),
    ("0 0 12 * * FRIDAY", "a cron expression has five fields, this has six", None),
    ("H 8 * * *", "`H` is Jenkins' word for any value; write a minute of your choice", None),
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
    let cases: [(&str, &[&str]); 9] = [
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
    assert_eq!(told("cron(0 25 ? * * *)"), "a cron expression has five fields, this has six");
    assert_eq!(told("0 25 0 0 0 0 0"), "a cron expression has five fields, this has seven");
    assert_eq!(Cron::parse("  0 25 * * * # late").unwrap_err().span(), 4..6);
    assert!(matches!(Cron::parse("@every").unwrap_err().kind(), CronErrorKind::Every));
}

/// A field as Quartz and Spring have it: the values at which it fires.
#[derive(Clone, Debug)]
struct Field {
    text: String,
    values: Vec<u32>,
}

impl Field {
    fn any(text: &str) -> Field {
        Field { text: text.to_owned(), values: (0..=59).collect() }
    }

    fn fires(&self, value: u32) -> bool {
        self.values.contains(&value)
    }
}

/// Ranges may run over the end there; steps count on over it.
fn field(first: u32, last: u32) -> impl Strategy<Value = Field> {
    let one =
        (first..=last, first..=last, 1..=last, 0..4_u8).prop_map(move |(from, to, step, form)| {
            match form {
                0 => (from.to_string(), vec![from]),
                1 => {
                    let all: Vec<u32> = if from <= to {
                        (from..=to).collect()
                    } else {
                        (from..=last).chain(first..=to).collect()
                    };
                    (format!("{from}-{to}"), all)
                }
                2 => (format!("{from}/{step}"), (from..=last).step_by(step as usize).collect()),
                _ => (format!("*/{step}"), (first..=last).step_by(step as usize).collect()),
            }
        });
    prop::collection::vec(one, 1..3).prop_map(|items| Field {
        text: items.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(","),
        values: items.into_iter().flat_map(|(_, values)| values).collect(),
    })
}

/// Quartz's weekdays: 1 for Sunday.
fn weekday() -> impl Strategy<Value = Field> {
    let by_name = select(vec![
        ("MON-FRI", vec![2, 3, 4, 5, 6]),
        ("SAT,SUN", vec![7, 1]),
        ("FRI-MON", vec![6, 7, 1, 2]),
        ("L", vec![7]),
    ]);
    let by_name = by_name.prop_map(|(text, values)| Field { text: text.to_owned(), values });
    prop_oneof![field(1, 7), by_name]
}

/// Minute, hour, day of the month, month and weekday, of which one of the days is left open.
fn fields() -> impl Strategy<Value = [Field; 5]> {
    let either = prop_oneof![
        field(1, 31).prop_map(|day| (day, Field::any("?"))),
        weekday().prop_map(|weekday| (Field::any("?"), weekday)),
    ];
    let open = |field: BoxedStrategy<Field>| prop_oneof![Just(Field::any("*")), field];
    (open(field(0, 59).boxed()), open(field(0, 23).boxed()), either, open(field(1, 12).boxed()))
        .prop_map(|(minute, hour, (day, weekday), month)| [minute, hour, day, month, weekday])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Over leap days, the ends of months and of a year.
    #[test]
    fn the_suggested_expression_fires_at_the_same_instants(
        [minute, hour, day, month, weekday] in fields(),
        in_quartz in any::<bool>(),
    ) {
        let five = [&minute, &hour, &day, &month, &weekday].map(|field| field.text.as_str()).join(" ");
        let text = if in_quartz { format!("0 {five} *") } else { format!("cron({five} *)") };
        let error = Cron::parse(&text).expect_err("six fields or more");
        let Some(instead) = error.instead() else {
            // It never fires: 30 February.
            prop_assert!(error.to_string().contains("fields"), "{text}: {error}");
            return Ok(());
        };
        let ours = Cron::parse(instead).expect("what is advised can be used").in_zone(Zone::utc());
        let begin: jiff::Timestamp = "2027-12-28T00:00:00Z".parse().expect("an instant");
        let end: jiff::Timestamp = "2028-03-02T00:00:00Z".parse().expect("an instant");
        let theirs = std::iter::successors(Some(begin), |at| {
            Some(*at + jiff::SignedDuration::from_mins(1)).filter(|at| *at < end)
        })
        .filter(|at| {
            let shown = at.to_zoned(jiff::tz::TimeZone::UTC);
            let of = |field: &Field, value: i8| field.fires(u32::try_from(value).expect("positive"));
            of(&minute, shown.minute())
                && of(&hour, shown.hour())
                && of(&day, shown.day())
                && of(&month, shown.month())
                && of(&weekday, shown.weekday().to_sunday_one_offset())
        });
        let ours = ours.between(begin, end);
        prop_assert!(ours.eq(theirs), "{text} is not {instead}");
    }

    #[test]
    fn an_interval_is_suggested_only_if_it_runs_as_often_per_day(minutes in 1..3_000_u32) {
        let error = Cron::parse(&format!("@every {minutes}m")).expect_err("an interval");
        if let Some(instead) = error.instead() {
            let ours = Cron::parse(instead).expect("what is advised can be used").in_zone(Zone::utc());
            let begin: jiff::Timestamp = "2026-11-20T00:00:00Z".parse().expect("an instant");
            let end = begin + jiff::SignedDuration::from_hours(24 * 7);
            let gaps: Vec<_> = ours.between(begin, end).collect();
            for pair in gaps.windows(2) {
                prop_assert_eq!(pair[1].duration_since(pair[0]).as_mins(), i64::from(minutes));
            }
            prop_assert_eq!(gaps.len() as u64, 7 * 24 * 60 / u64::from(minutes));
        } else {
            prop_assert!(60 % minutes != 0 && (minutes % 60 != 0 || 1_440 % minutes != 0));
        }
    }
}
