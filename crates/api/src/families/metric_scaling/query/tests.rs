//! The refused queries with their findings, the queries that Almanac evaluates, and the reasons that other queries need
//! a Prometheus.

use super::*;

fn checked(text: &str) -> Result<QueryEvaluator, Finding> {
    let mut findings = Vec::new();
    let query = check(text, &Path::Root.key("query"), &mut PatternBudget::default(), &mut findings);
    query.map(|query| query.evaluator).ok_or_else(|| findings.remove(0))
}

#[test]
fn a_query_that_is_not_promql_is_rejected_with_a_fix_if_one_exists() {
    for (text, message, fix) in [
        (
            "max(a, b)",
            "max takes one vector in PromQL; join several with 'or'",
            Some("write max(a or b)"),
        ),
        ("max(a, 3)", "not valid PromQL: max takes 1 argument, not 2", None),
        ("max(a", "not valid PromQL: unclosed \"max(\"", None),
        ("sum(a) bx (job)", "not valid PromQL: unexpected \"bx\", after \"sum(a)\"", None),
        (
            "sum(\n  rate(a[5m])\n) / / 2",
            "not valid PromQL: unexpected \"/\" in line 3, after \") /\"",
            None,
        ),
        ("a or 3", "not valid PromQL: 'or' takes two vectors, not a number", None),
        (
            "a[5m]",
            "yields a range of samples instead of one; use a function such as max_over_time",
            None,
        ),
        ("\"a\"", "yields a text instead of a number", None),
    ] {
        let finding = checked(text).unwrap_err();
        assert!(finding.message.ends_with(message), "{text}: {}", finding.message);
        assert_eq!(finding.fix.as_deref(), fix, "{text}");
    }
}

#[test]
fn almanac_evaluates_queries_about_published_values_alone() {
    for text in [
        "karpenter_scheduled_capacity",
        "{__name__=\"karpenter_scheduled_capacity\", namespace!=\"dev\"}",
        "karpenter_scheduled_replicas_value{name=~\"a|b\", name!~\"b.*\"}",
        "max(karpenter_scheduled_capacity or karpenter_scheduled_replicas_value)",
        "-2 ^ (sum(karpenter_scheduled_capacity) % 3) / 4 - +1",
        "3",
    ] {
        assert!(matches!(checked(text), Ok(QueryEvaluator::Published(_))), "{text}");
    }
}

#[test]
fn a_query_that_only_a_prometheus_can_evaluate_has_a_reason() {
    for (text, why) in [
        ("up", "Almanac does not publish up"),
        ("max(karpenter_scheduled_capacity or queue)", "Almanac does not publish queue"),
        ("{name=\"a\"}", "it selects by patterns of metric names"),
        ("{__name__=~\"karpenter_.*\"}", "it selects by patterns of metric names"),
        ("karpenter_scheduled_capacity{job=\"almanac\"}", "only Prometheus adds the label job"),
        ("karpenter_scheduled_capacity offset 5m", "it looks at another time"),
        ("karpenter_scheduled_capacity @ 0", "it looks at another time"),
        ("max_over_time(karpenter_scheduled_capacity[5m])", "it calls max_over_time()"),
        ("sum by (name) (karpenter_scheduled_capacity)", "it groups by labels"),
        ("avg(karpenter_scheduled_capacity)", "it aggregates by avg, not by max, min or sum"),
        ("karpenter_scheduled_capacity > 3", "it has the operator >"),
        (
            "karpenter_scheduled_capacity + on (name) karpenter_scheduled_replicas_value",
            "it matches series by some of their labels",
        ),
    ] {
        match checked(text) {
            Ok(QueryEvaluator::External(obstacle)) => assert_eq!(&*obstacle, why, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn patterns_beyond_a_budget_are_refused_with_a_fix() {
    let path = Path::Root.key("query");
    let query = |count: usize| {
        let matchers =
            (0..count).map(|number| format!("name!~\"x{number}.*\",")).collect::<Vec<_>>().concat();
        format!("max(karpenter_scheduled_capacity{{{matchers}}})")
    };
    let (mut findings, mut patterns) = (Vec::new(), PatternBudget::default());
    assert!(check(&query(MAX_OBJECT_PATTERNS), &path, &mut patterns, &mut findings).is_some());
    assert!(check(&query(MAX_OBJECT_PATTERNS), &path, &mut patterns, &mut findings).is_some());
    let mut patterns = PatternBudget::default();
    assert!(check(&query(MAX_OBJECT_PATTERNS + 1), &path, &mut patterns, &mut findings).is_none());
    assert!(findings[0].message.contains("100 at most, may take 1024 KiB"), "{findings:?}");
    assert!(findings[0].fix.as_deref().is_some_and(|fix| fix.contains("= instead of =~")));
    assert!(!lacks_room(&findings));
    let pool = almanac_engine::metric_scaling::PatternPool::with_max_bytes(1);
    let mut patterns = PatternBudget::new(Some(&pool), "shop");
    findings.clear();
    assert!(check("max(up{name=~\"a.*\"})", &path, &mut patterns, &mut findings).is_some());
    assert!(check(&query(1), &path, &mut patterns, &mut findings).is_none());
    assert!(lacks_room(&findings), "{findings:?}");
}

#[test]
fn queries_that_compare_all_schedules_with_many_conditions_are_refused() {
    let path = Path::Root.key("query");
    let query = |conditions: usize| {
        let matchers = "name!=\"a\",".repeat(conditions);
        format!("max(karpenter_scheduled_capacity{{{matchers}}})")
    };
    let (mut findings, mut patterns) = (Vec::new(), PatternBudget::default());
    let one = "karpenter_scheduled_capacity{name=\"a\", namespace=\"b\"}";
    for text in [&query(100), &query(155), "max(karpenter_scheduled_capacity)", one, one] {
        assert!(check(text, &path, &mut patterns, &mut findings).is_some(), "{findings:?}");
    }
    assert!(check(&query(1), &path, &mut patterns, &mut findings).is_none());
    assert!(findings[0].message.contains("with 256 conditions"), "{findings:?}");
    assert!(findings[0].fix.as_deref().is_some_and(|fix| fix.contains("namespace=")));
}

#[test]
fn a_short_query_with_large_patterns_is_refused() {
    let patterns =
        ('b'..'z').map(|last| format!("name=~\"[a-{last}]{{400}}\",")).collect::<Vec<_>>().concat();
    let finding = checked(&format!("karpenter_scheduled_capacity{{{patterns}}}")).unwrap_err();
    assert!(finding.message.ends_with("and those up to here take more"), "{finding:?}");
    let finding = checked("karpenter_scheduled_capacity{name=~\"(a?b?){1000}\"}").unwrap_err();
    assert!(
        finding.message.contains("is too large, or takes too long to compile: 256 KiB"),
        "{finding:?}"
    );
    // Go rejects nested repetitions, and repetitions of more than a thousand times.
    for pattern in ["[a-b]{1000}{50}", "([a-b]{1000}){50}", "[a-b]{1001}"] {
        let query = format!("karpenter_scheduled_capacity{{name=~\"{pattern}\"}}");
        let finding = checked(&query).unwrap_err();
        assert!(finding.message.ends_with("is not a regular expression"), "{finding:?}");
    }
}
