//! The language of queries: over random strings, Almanac and a real Prometheus accept the same queries.

use almanac_api::finding::Code;
use almanac_fixtures::trials;
use almanac_harness::{Prometheus, TestResult};
use anyhow::ensure;
use fastrand::Rng;
use regex::Regex;

use crate::random_text::text;
use crate::verdict::checked;

/// The variable with the number of strings.
const TEXTS: &str = "ALMANAC_QUERY_TEXTS";

/// Newer features that an older Prometheus rejects. Almanac accepts them because the Prometheus that receives a query
/// may support them. None of these is in version 2.42.
const NEWER: [(&str, &str); 14] = [
    (
        "functions and aggregations",
        r"(?i)\b(info|histogram_(avg|quantiles|stddev|stdvar)|mad_over_time|sort_by_label(_desc)?|limitk|limit_ratio|max_of|min_of|step|range|start|end|double_exponential_smoothing)\s*\(",
    ),
    ("modifiers", r"(?i)\b(anchored|smoothed|fill|fill_left|fill_right)\b"),
    ("operators that trim", r"</|>/"),
    ("keywords of newer versions as names", r"(?i)\b(limitk|limit_ratio|step|range)\b"),
    (
        "numbers for durations",
        r"(?i)(\[|:|\boffset\b)[\s(+-]*(0x[0-9a-f_]+|[0-9][0-9_]*\.?[0-9]*(e[+-]?[0-9]+)?|\.[0-9]+|inf|nan)\s*(#|$|[^\w.])",
    ),
    ("durations for numbers", r"(?i)(^|[^\[:\w.])\s*[0-9]+(ms|[smhdwy])"),
    ("expressions of durations", r"(?i)\[[^\]]*[-+*/%^(][^\]]*\]|\boffset\s*([-+]\s*[-+(]|\()"),
    ("underscores in numbers", r"(?i)[0-9a-fx]_[0-9a-f]"),
    ("quoted names", r#"[{,(]\s*["'`]"#),
    ("comments in brackets", r"\[[^\]]*#"),
    ("empty offsets", r"(?i)\boffset\s*[-+]?\s*0"),
    ("labels with colons", r"(?i)\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*:"),
    ("groups whose name has no P before it", r"\(\?<[A-Za-z_]"),
    ("comments before brackets", r"#[^\n]*\n\s*\["),
];

/// Comments, and quoted strings, in which a `#` does not start a comment.
const COMMENTS: &str = r#"("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)|#[^\n]*\n"#;

/// A string that version 2 accepts and version 3 does not: a hexadecimal number at the end, whose second digit is an
/// `e`.
const OLDER: &str = r"(?i)0x[0-9a-f_]*e";

/// Queries that Almanac and Prometheus treat differently on purpose, and the messages of Almanac.
const DIFFERENT: [(&str, bool); 3] = [
    // Version 3 calls the function double_exponential_smoothing, and version 2 does not support that name.
    ("holt_winters(a[1h], 0.5, 0.5)", true),
    ("double_exponential_smoothing(a[1h], 0.5, 0.5)", true),
    // Names of Unicode's classes are not checked character by character.
    ("a{b=~\"\\\\pn\"}", true),
];

/// Whether Almanac accepts a string as a query, with any result.
fn is_query(text: &str) -> bool {
    checked(text).findings.iter().all(|finding| {
        !matches!(finding.code, Code::Query | Code::MissingField)
            || finding.message.ends_with("use a function such as max_over_time")
            || finding.message.ends_with("yields a text instead of a number")
    })
}

#[tokio::test]
async fn a_string_is_a_query_exactly_if_prometheus_accepts_it() -> TestResult {
    let prometheus = Prometheus::start(&[]).await?;
    let older = Regex::new(OLDER).unwrap();
    let newer = NEWER.map(|(what, pattern)| (what, Regex::new(pattern).unwrap()));
    let comments = Regex::new(COMMENTS).unwrap();
    let seed = trials::seed("a_string_is_a_query_exactly_if_prometheus_accepts_it");
    let mut random = Rng::with_seed(seed);
    let count: usize = trials::size(TEXTS, 600, 50_000);
    let (mut accepted, mut refused, mut different) = (0, 0, Vec::new());
    for _ in 0..count {
        let text = text(&mut random);
        let (own, theirs) = (is_query(&text), prometheus.is_query(&text).await?);
        if own == theirs {
            *(if own { &mut accepted } else { &mut refused }) += 1;
            continue;
        }
        let is_known = if theirs {
            older.is_match(&text)
        } else {
            let uncommented = comments.replace_all(&text, "$1 ");
            let texts = [text.as_str(), &uncommented];
            newer.iter().any(|(_, pattern)| texts.iter().any(|text| pattern.is_match(text)))
        };
        if !is_known {
            let own = checked(&text).findings;
            different.push(format!("{text:?}: Prometheus accepts: {theirs}; Almanac: {own:?}"));
        }
    }
    let first = &different[..different.len().min(20)];
    ensure!(different.is_empty(), "seed {seed}: {} differ: {first:#?}", different.len());
    // About a quarter is accepted, so 120 to 180 of 600. No seed results in less than a tenth.
    ensure!(
        accepted > count / 10 && refused > count / 10,
        "seed {seed}: {accepted} accepted, {refused} refused"
    );
    for (query, own) in DIFFERENT {
        ensure!(is_query(query) == own, "{query}");
    }
    ensure!(!prometheus.is_query(DIFFERENT[2].0).await?, "the queries no longer differ");
    Ok(())
}
