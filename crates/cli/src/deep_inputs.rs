//! No parser uses stack in proportion to the depth of its input: each returns a value or an error for any nested or
//! repeated input, on a small stack. The tests of each parser cover the meaning of its values.
//!
//! Where another crate limits the depth itself, that limit is stated here: 128 for `serde_json`.

use almanac_api::checking::{CheckContext, Layout, check_everything, check_json};
use almanac_api::kinds::Kind;
use almanac_api::reading::{Reading, Source, fix_text, read_objects};
use almanac_calendar::{Cron, DailyWindow, PatternText};
use almanac_engine::placement::{Document, Expression, Meter, Quantity, Subject};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::pattern::Pattern;
use crate::selector::Selector;

/// Half of what Rust gives to a thread.
const STACK_BYTES: usize = 1 << 20;
/// The stack of the main thread on Linux. `serde-saphyr` reads the kubeconfig on this stack, and limits the depth
/// itself.
const MAIN_STACK_BYTES: usize = 8 << 20;
/// Depths below, at and beyond each limit, and far beyond.
const COUNTS: [usize; 11] = [1, 50, 63, 64, 99, 100, 127, 128, 129, 2_000, 500_000];
/// The maximum size of an input, in bytes.
const MAX_BYTES: usize = 400_000;

/// The opening text, the innermost text, the closing text.
type Nested = (&'static str, &'static str, &'static str);

struct Parser {
    name: &'static str,
    /// Parses a text, and drops the result on the same stack.
    parse: fn(&str),
    nested: &'static [Nested],
}

const JSON: &[Nested] = &[
    ("[", "1", "]"),
    ("{\"a\":", "1", "}"),
    ("{\"a\":[", "1", "]}"),
    ("[", "", ""),
    ("{\"a\":", "", ""),
    ("[],", "", ""),
    ("\"\\", "", ""),
    ("-", "1", ""),
];

const PARSERS: &[Parser] = &[
    Parser {
        name: "YAML",
        parse: files,
        nested: &[
            ("[", "1", "]"),
            ("{a: ", "1", "}"),
            ("[&a ", "1", "]"),
            ("- ", "1", ""),
            ("? ", "1", ""),
            ("a: &a [*a, ", "", "]\n"),
            ("!a ", "1", ""),
            ("&a ", "1", ""),
            ("a: |\n ", "", "\n"),
            ("'", "", ""),
            ("\"\\", "", ""),
            ("---\n", "", ""),
            ("# a\n", "", ""),
            ("<<: ", "", ""),
            ("a: &a [1]\nb: &a [*a]\n", "", ""),
            ("%YAML 1.1\n", "", ""),
            ("{{ ", "", " }}"),
            ("{apiVersion: v1, kind: List, items: [", "", "]}"),
        ],
    },
    Parser { name: "JSON in a file", parse: files_of_json, nested: JSON },
    Parser { name: "an object of an API server", parse: object, nested: JSON },
    Parser { name: "a status", parse: status, nested: JSON },
    Parser { name: "a selector in an object", parse: selector_in_object, nested: JSON },
    Parser {
        name: "CEL",
        parse: expression,
        nested: &[
            ("(", "true", ")"),
            ("[", "1", "]"),
            ("{1: ", "1", "}"),
            ("!", "true", ""),
            ("-", "1", ""),
            ("!(", "true", ")"),
            ("true ? true : ", "true", ""),
            ("true ? ", "true", " : true"),
            ("", "1", " + 1"),
            ("", "true", " && true"),
            ("", "true", " == true"),
            ("", "managedCluster", ".a"),
            ("", "managedCluster", "[0]"),
            ("[1].all(x, ", "true", ")"),
            ("", "[1]", ".map(x, [x])"),
            ("size(", "'a'", ")"),
            ("optional.of(", "1", ")"),
            ("'", "", ""),
            ("\"\"\"", "", ""),
        ],
    },
    Parser { name: "a pattern in CEL", parse: pattern_in_expression, nested: REGULAR },
    Parser {
        name: "cron",
        parse: cron,
        nested: &[
            ("* ", "", ""),
            ("1,", "1 * * * *", ""),
            ("1-", "1 * * * *", ""),
            ("*/", "1 * * * *", ""),
            ("@", "hourly", ""),
            ("CRON_TZ=", "UTC * * * * *", ""),
            ("(", "* * * * *", ")"),
        ],
    },
    Parser {
        name: "patterns of times",
        parse: times,
        nested: &[
            ("1,", "1", ""),
            ("Mon,", "Tue", ""),
            ("-", "1", ""),
            ("1:", "1", ""),
            ("(", "1", ")"),
        ],
    },
    Parser {
        name: "selectors",
        parse: selector,
        nested: &[
            ("a in (", "b", ")"),
            ("(", "a", ")"),
            ("!", "a", ""),
            ("a,", "b", ""),
            ("a=", "b", ""),
            (")", "a", "("),
        ],
    },
    Parser {
        name: "quantities",
        parse: quantity,
        nested: &[("1", "", ""), ("-", "1", ""), ("1e", "1", ""), ("", "1", "Ki"), ("0.", "1", "")],
    },
    Parser {
        name: "patterns of names",
        parse: name,
        nested: &[
            ("{", "a", "}"),
            ("{a,", "b", "}"),
            ("[", "a", "]"),
            ("*", "a", ""),
            ("**/", "a", ""),
            ("?", "a", ""),
            ("{", "", ""),
        ],
    },
    Parser {
        name: "settings",
        parse: settings,
        nested: &[
            ("a = [", "1", "]"),
            ("[", "a", "]"),
            ("{a = ", "1", "}"),
            ("a.", "b = 1", ""),
            ("[a.", "b", "]"),
        ],
    },
    #[cfg(feature = "cluster")]
    Parser {
        name: "a kubeconfig",
        parse: kubeconfig,
        nested: &[
            ("[", "1", "]"),
            ("{a: ", "1", "}"),
            ("clusters: [", "1", "]"),
            ("- ", "1", ""),
            ("? ", "1", ""),
            ("[&a ", "1", "]"),
            ("a: &a [*a, ", "", "]\n"),
            ("---\n", "", ""),
        ],
    },
];

const REGULAR: &[Nested] = &[
    ("(", "a", ")"),
    ("(?:a|", "b", ")"),
    ("[", "a", "]"),
    ("[^[:alpha:]", "a", "]"),
    ("", "a", "{2}"),
    ("", "a", "*"),
    ("a|", "b", ""),
    ("(?i)", "a", ""),
    ("\\", "", ""),
];

fn context() -> CheckContext<'static> {
    CheckContext::new("default", Timestamp::UNIX_EPOCH)
}

/// Also the steps after reading: copies, JSON, checks and fixes.
fn files(text: &str) {
    for text in [text, &format!("x: {text}"), &format!("kind: List\napiVersion: v1\nitems: {text}")]
    {
        let mut reading = Reading::default();
        read_objects(&mut reading, Source::new("test.yaml", text));
        let everything = check_everything(&reading, context(), &Layout::default());
        for object in &reading.objects {
            assert_eq!(object.node.clone(), object.node);
            drop(object.node.to_json());
        }
        let findings = [reading.findings.clone(), everything.findings].concat();
        drop(fix_text(text, &findings));
    }
}

fn files_of_json(text: &str) {
    files(&format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{text}}}"));
}

fn object(text: &str) {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    drop(Document::from_json(&value.clone()));
    for kind in Kind::ALL {
        let object = json!({ "metadata": { "name": "a" }, "spec": value, "data": value });
        drop(check_json(*kind, object, context()));
    }
}

fn status(text: &str) {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    for kind in Kind::ALL {
        for status in [value.clone(), json!({ "conditions": value, "executionHistories": [value] })]
        {
            let object = json!({ "metadata": { "name": "a" }, "spec": {}, "status": status });
            drop(check_json(*kind, object, context()));
        }
    }
}

fn selector_in_object(text: &str) {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let spec = json!({
        "podSelector": value,
        "predicates": [{ "requiredClusterSelector": { "labelSelector": value } }],
    });
    for kind in [Kind::ResourcePolicy, Kind::Placement] {
        let object = json!({ "metadata": { "name": "a" }, "spec": spec });
        drop(check_json(kind, object, context()));
    }
}

fn expression(text: &str) {
    if let Ok(expression) = Expression::compile(text) {
        let object = Document::default();
        let subject = Subject { object: &object, scores: &|_| None };
        drop(expression.holds(&subject, &Meter::new()));
    }
}

fn pattern_in_expression(text: &str) {
    expression(&format!("'a'.matches(r'{text}')"));
    // A pattern that is not part of the expression.
    let object = Document::from_json(&json!({ "a": text }));
    let expression = Expression::compile("'a'.matches(managedCluster.a)").unwrap();
    drop(expression.holds(&Subject { object: &object, scores: &|_| None }, &Meter::new()));
}

fn cron(text: &str) {
    match Cron::parse(text) {
        Ok(cron) => drop(cron.describe()),
        Err(error) => drop(error.to_string()),
    }
}

fn times(text: &str) {
    let fields = PatternText { hours: Some(text), weekdays: Some(text), ..PatternText::default() };
    drop(almanac_calendar::Pattern::parse(fields).map_err(|error| error.to_string()));
    drop(DailyWindow::parse(text, text).map_err(|error| error.to_string()));
}

fn selector(text: &str) {
    drop(Selector::parse("-l", text).map(|selector| selector.fits(None)));
}

fn quantity(text: &str) {
    drop(Quantity::parse(text).map(|quantity| format!("{quantity:?}")));
}

fn name(text: &str) {
    drop(Pattern::new(text).map(|pattern| pattern.matches("aaaa")));
}

fn settings(text: &str) {
    drop(toml::from_str::<toml::Table>(text));
    drop(toml::from_str::<toml::Table>(&format!("a = {text}")));
}

#[cfg(feature = "cluster")]
fn kubeconfig(text: &str) {
    drop(kube::config::Kubeconfig::from_yaml(text));
    drop(kube::config::Kubeconfig::from_yaml(&format!("clusters: {text}")));
}

#[test]
fn json_of_requests_and_of_api_servers_has_at_most_127_levels() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(serde_json::from_str::<Value>(&nested(127)).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(128)).is_err());
}

#[test]
fn every_parser_runs_on_a_small_stack_for_any_nested_or_repeated_input() {
    for Parser { name, parse, nested } in PARSERS {
        for (opening, inner, closing) in *nested {
            for count in COUNTS {
                let bytes = count * (opening.len() + closing.len());
                let count = if bytes > MAX_BYTES { MAX_BYTES * count / bytes } else { count };
                let text = [&opening.repeat(count), *inner, &closing.repeat(count)].concat();
                // A stack overflow ends the process: the last line says where.
                eprintln!("{name}: {count} times {opening:?} and {closing:?}");
                let is_read_at_start = *name == "a kubeconfig";
                let stack = if is_read_at_start { MAIN_STACK_BYTES } else { STACK_BYTES };
                let thread = std::thread::Builder::new().stack_size(stack);
                let parsed = thread.spawn(move || parse(&text)).unwrap().join();
                assert!(parsed.is_ok(), "{name} panics at {count} times {opening:?}");
            }
        }
    }
}
