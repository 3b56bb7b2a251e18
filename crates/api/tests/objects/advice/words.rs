//! The advice on values in everyday words or in other languages: times of day and expressions.

use super::{PODS, advised, assert_fixed, fixed_text, levels, placement};
use crate::written::{check, producer};

#[test]
fn a_time_of_day_in_words_is_fixed_unless_it_may_mean_two_times() {
    let list = "globalConfig.timeBasedQoSPolicies[0]";
    let window = |start: &str, end: &str| {
        levels(&format!("startTime: {start}, endTime: {end}, {PODS}, targetQoSLevel: be"))
    };
    for (start, end, meant) in [
        ("09:30am", "'20:00'", ["write 09:30", ""]),
        ("9.30pm", "'06:00'", ["write 21:30", ""]),
        ("noon", "midnight", ["write 12:00", "write 24:00"]),
        ("Midnight", "12pm", ["write 00:00", "write 12:00"]),
        ("12am", "'06:00'", ["write 00:00", ""]),
        ("'00:00'", "12am", ["", "write 24:00"]),
    ] {
        let text = window(start, end);
        assert_fixed(&text, &format!("{list}.targetQoSLevel"), "write -1");
        let (_, _, findings) = check(&text);
        for (name, meant) in ["startTime", "endTime"].into_iter().zip(meant) {
            let field = format!("{list}.{name}");
            let found = findings.iter().find(|it| it.finding.field.to_string() == field);
            let fix = found.and_then(|it| it.finding.clone().with_some_fix().fix);
            assert_eq!(fix.as_deref().unwrap_or_default(), meant, "{text}");
        }
        let (_, _, left) = check(&fixed_text(&text));
        assert!(left.iter().all(|it| !it.finding.field.to_string().ends_with("Time")), "{left:?}");
    }
    // `9.50` may be ten to ten or half past nine, and `9h` may be a duration.
    for unclear in ["'9.50'", "9h", "13am", "'0930'"] {
        let (_, _, findings) = check(&window(unclear, "'20:00'"));
        let of_start = findings.iter().find(|it| it.finding.field.to_string().ends_with("Time"));
        let finding = of_start.unwrap().finding.clone().with_some_fix();
        assert_eq!(finding.fix.as_deref(), Some("write two digits each, as in 08:00"), "{unclear}");
        assert!(finding.replacement.is_none(), "{unclear}");
    }
    let forms = "write two digits each in quotes, as in \"08:00\"";
    advised(&window("9.30", "'20:00'"), &format!("{list}.startTime"), forms);
}

#[test]
fn hours_in_words_are_fixed_unless_they_may_mean_two_times() {
    let behavior = |start: &str| {
        producer(&format!(
            "{{defaultReplicas: 1, behaviors: [{{replicas: 3, start: {{{start}}}, end: {{hours: 6}}}}]}}"
        ))
    };
    let hours = "spec.schedule.behaviors[0].start.hours";
    for (start, fix) in [
        ("hours: '9am,5pm'", "write 9,17"),
        ("hours: '9am, 12, 6pm'", "write 9, 12, 18"),
        ("hours: 12am", "write 0"),
        ("hours: 12pm, weekdays: Fri", "write 12"),
        ("hours: midnight", "write 0"),
        ("hours: 9.00am", "write 9"),
    ] {
        assert_fixed(&behavior(start), hours, fix);
    }
    let days = "write 0, and name the days that begin then";
    let whole = "write whole hours; the field minutes applies to all of them";
    for (start, fix) in [
        ("hours: 09:30am", "write hours: 9 and minutes: 30"),
        ("hours: '9:30am,5pm'", whole),
        ("hours: 9:30, minutes: 15", whole),
        ("hours: 12am, weekdays: Fri", days),
        ("hours: '9am,midnight', weekdays: Fri", "write 0 to 23"),
        ("hours: midnight, minutes: 30, weekdays: Fri", days),
        ("hours: midnight, minutes: 30", whole),
        ("hours: noon, minutes: 30", whole),
        ("hours: '9:00', minutes: 30", whole),
        ("hours: 9h", "write 0 to 23"),
        ("hours: '9.30'", "write 0 to 23"),
    ] {
        let (_, _, findings) = check(&behavior(start));
        let finding = findings[0].clone().finding.with_some_fix();
        assert_eq!(
            (finding.field.to_string(), finding.fix.as_deref()),
            (hours.to_owned(), Some(fix))
        );
        assert!(finding.replacement.is_none(), "{start}");
    }
}

#[test]
fn an_expression_of_another_language_is_fixed_if_the_fix_compiles() {
    let field = "spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]";
    let selecting = |expression: &str| {
        placement(&format!(
            "predicates: [{{requiredClusterSelector: {{celSelector: {{celExpressions: ['{expression}']}}}}}}]"
        ))
    };
    let name = "managedCluster.metadata.name";
    for (written, meant) in [
        ("N = \"a\"", "N == \"a\""),
        ("N <> \"a and b\" and len(N) =< 3", "N != \"a and b\" && size(N) <= 3"),
        ("contains(N, \"a\") or not (N == None)", "N.contains(\"a\") || !(N == null)"),
    ] {
        let (written, meant) = (written.replace('N', name), meant.replace('N', name));
        // `None` begins with the letter that stands for the name.
        let written = written.replace("managedCluster.metadata.nameone", "None");
        assert_fixed(&selecting(&written), field, &format!("write {meant}"));
        assert!(fixed_text(&selecting(&written)).contains(&format!("'{meant}'")), "{written}");
    }
    let usual = "write a CEL expression over managedCluster that is true or false";
    for unclear in ["not N == \"a\"", "N == \"a\" and", "N == a = b"] {
        advised(&selecting(&unclear.replace('N', name)), field, usual);
    }
}
