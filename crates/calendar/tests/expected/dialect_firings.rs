//! The replacement advised for another scheduler's expression fires at the very instants of the original, by an
//! independent evaluation that does not use cron expressions.

use almanac_calendar::{Cron, CronErrorKind, Zone};
use proptest::prelude::*;
use proptest::sample::select;

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

/// Ranges may run over the end there, and steps count on over it.
fn field(first: u32, last: u32) -> impl Strategy<Value = Field> {
    let one =
        (first..=last, first..=last, 1..=last, 0..5_u8).prop_map(move |(from, to, step, form)| {
            match form {
                4 => {
                    let beyond = if from <= to { to } else { to + (last - first + 1) };
                    let all = (from..=beyond).step_by(step as usize);
                    let wrapped = all.map(|value| (value - first) % (last - first + 1) + first);
                    (format!("{from}-{to}/{step}"), wrapped.collect())
                }
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
        ("Monday-FRIDAY", vec![2, 3, 4, 5, 6]),
        ("sunday,WED", vec![1, 4]),
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

/// Spring's weekdays, from 1 for Monday: 0 and 7 are Sunday, and 7 begins a range as 0 does.
fn weekday_of_spring() -> impl Strategy<Value = Field> {
    let day = |day: u32| if day == 0 { 7 } else { day };
    let one = (0..=7_u32).prop_map(move |value| (value.to_string(), vec![day(value)]));
    let range = (0..=7_u32, 0..=7_u32).prop_map(move |(one, other)| {
        let (from, to) = (one.min(other), one.max(other));
        (format!("{from}-{to}"), (from..=to).map(day).collect())
    });
    let from_sunday =
        (0..7_u32).prop_map(move |to| (format!("7-{to}"), (0..=to).map(day).collect()));
    let named =
        select(vec![("MON-FRI".to_owned(), vec![1, 2, 3, 4, 5]), ("saturday".to_owned(), vec![6])]);
    let item = prop_oneof![one, range, from_sunday, named];
    prop::collection::vec(item, 1..3).prop_map(|items| Field {
        text: items.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(","),
        values: items.into_iter().flat_map(|(_, values)| values).collect(),
    })
}

fn span_of_comparison() -> (jiff::Timestamp, jiff::Timestamp) {
    let [begin, end] =
        ["2027-12-28T00:00:00Z", "2028-03-02T00:00:00Z"].map(|at| at.parse().expect("an instant"));
    (begin, end)
}

/// Every minute at which the fields of an original fire; `weekday_of` numbers the weekdays as it does.
fn firings_of<'a>(
    [minute, hour, day, month, weekday]: &'a [Field; 5],
    weekday_of: impl Fn(jiff::civil::Weekday) -> i8 + 'a,
) -> impl Iterator<Item = jiff::Timestamp> + 'a {
    let (begin, end) = span_of_comparison();
    std::iter::successors(Some(begin), move |at| {
        Some(*at + jiff::SignedDuration::from_mins(1)).filter(|at| *at < end)
    })
    .filter(move |at| {
        let shown = at.to_zoned(jiff::tz::TimeZone::UTC);
        let of = |field: &Field, value: i8| field.fires(u32::try_from(value).expect("positive"));
        of(minute, shown.minute())
            && of(hour, shown.hour())
            && of(day, shown.day())
            && of(month, shown.month())
            && of(weekday, weekday_of(shown.weekday()))
    })
}

fn is_same(instead: &str, theirs: impl Iterator<Item = jiff::Timestamp>) -> bool {
    let (begin, end) = span_of_comparison();
    let ours = Cron::parse(instead).expect("what is advised can be used").in_zone(Zone::utc());
    ours.between(begin, end).eq(theirs)
}

fn joined(fields: &[Field; 5]) -> String {
    fields.each_ref().map(|field| field.text.as_str()).join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Over leap days, the ends of months and of a year.
    #[test]
    fn the_suggested_expression_fires_at_the_same_instants(
        fields in fields(),
        in_quartz in any::<bool>(),
        year in select(vec!["*", "*/1"]),
    ) {
        let five = joined(&fields);
        let text =
            if in_quartz { format!("0 {five} {year}") } else { format!("cron({five} {year})") };
        let error = Cron::parse(&text).expect_err("six fields or more");
        let Some(instead) = error.instead() else {
            // 30 February.
            prop_assert!(error.to_string().contains("it never fires"), "{text}: {error}");
            return Ok(());
        };
        let theirs = firings_of(&fields, jiff::civil::Weekday::to_sunday_one_offset);
        prop_assert!(is_same(instead, theirs), "{text} is not {instead}");
    }

    #[test]
    fn the_suggested_expression_for_seconds_first_fires_at_the_same_instants(
        [minute, hour, _, month, _] in fields(),
        weekday in weekday_of_spring(),
        day in select(vec!["*", "?", "*/1", "1-31"]),
    ) {
        let fields = [minute, hour, Field::any(day), month, weekday];
        let text = format!("0 {}", joined(&fields));
        let error = Cron::parse(&text).expect_err("six fields");
        if let Some(instead) = error.instead() {
            let theirs = firings_of(&fields, jiff::civil::Weekday::to_monday_one_offset);
            prop_assert!(is_same(instead, theirs), "{text} is not {instead}");
        }
    }

    /// The part that these five fields cannot express as they are written.
    #[test]
    fn the_suggested_expression_for_a_wrapping_range_fires_at_the_same_instants(
        [minute, hour, _, month, _] in fields(),
    ) {
        let fields = [minute, hour, Field::any("*"), month, Field::any("*")];
        let text = joined(&fields);
        let mut instead = text.clone();
        // A message reports one mistake at a time.
        while let Err(error) = Cron::parse(&instead) {
            let CronErrorKind::Backwards { .. } = error.kind() else { panic!("{text}: {error}") };
            instead = match error.instead() {
                Some(instead) => instead.to_owned(),
                None => return Ok(()),
            };
        }
        let theirs = firings_of(&fields, |_| 1);
        prop_assert!(is_same(&instead, theirs), "{text} is not {instead}");
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
