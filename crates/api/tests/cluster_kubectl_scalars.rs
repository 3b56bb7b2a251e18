//! Compares the reading of odd YAML with kubectl: a real kubectl parses each text, and the test compares both results.

use almanac_api::reading::{Reading, Source, read_objects};
use almanac_harness::{Kubectl, TestResult, on_shared_cluster};
use serde_json::Value;

/// Values after `data:` in an object.
const VALUES: &[&str] = &[
    "",
    "~",
    "null",
    "Null",
    "NULL",
    "nULL",
    "yes",
    "Yes",
    "YES",
    "yEs",
    "y",
    "Y",
    "n",
    "N",
    "no",
    "on",
    "On",
    "off",
    "OFF",
    "true",
    "True",
    "TRUE",
    "tRUE",
    "false",
    "010",
    "08",
    "09.5",
    "0o17",
    "0x1F",
    "0X1f",
    "-0x1F",
    "0b101",
    "-0b101",
    "0b",
    "0x",
    "1_000",
    "1_0.5",
    "+12",
    "-0",
    "0",
    "00",
    "1e3",
    "1E3",
    "1e+3",
    "1.5e-1",
    "1.",
    ".5",
    "+.5",
    "-.5",
    "._5",
    "1e400",
    "1e21",
    "1e20",
    "12:30",
    "12:30:45",
    "2001-12-14",
    "2001-12-14T21:59:43.10-05:00",
    "2001-12-14 21:59:43",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "+9223372036854775808",
    "0xFFFFFFFFFFFFFFFF",
    "0xFFFFFFFFFFFFFFFFFF",
    "99999999999999999999",
    "0777777777777777777777777",
    "1.0",
    "0.1",
    "1e-7",
    "123456789.125",
    "0.30000000000000004",
    "-",
    "- a",
    "+",
    ".",
    "..",
    "a:b",
    "a: b",
    "a #b",
    "a#b",
    "#b",
    "'it''s'",
    "\"\\u00e9\\x41\\n\"",
    "\"\\/\"",
    "'010'",
    "\"yes\"",
    "!!str 010",
    "!!int \"10\"",
    "!!float 3",
    "!!bool yes",
    "!!str yes",
    "!mine 5",
    "!!int ten",
    "[1, yes, 010]",
    "{a: 010, b: [on, off]}",
    "{a:1}",
    "[a:1]",
    "[a: 1]",
    "{a, b}",
    "[1,2,]",
    "|\n  x\n  y\n",
    ">-\n  x\n  y\n",
    "x\n  y",
    "<<",
    "\"<<\"",
    "=",
    "@a",
    "`a",
    "%a",
    "*a",
    "&a 1",
    "&a 1\nother: *a",
    "http://x:80/y",
    "a:\tb",
    "é",
    "\u{1f600}",
    "1 2",
    "0.",
    "1__0",
    "_1",
    "0x_1F",
    "1e",
    "e1",
    ".inf",
    ".nan",
    "-.inf",
    ".e1",
    "1e1.5",
    "Infinity",
    "NaN",
    "0b12",
    "0o8",
    "1:2",
    "::",
    "?a",
    "? a",
    "--- a",
    "---",
    "...",
    "a\n---\nb",
    "'a\n  b'",
    "\"a\n  b\"",
    "\"a\nb\"",
    "[\n1\n]",
];

/// Whole documents: keys, merging, anchors and the splitting of documents.
const DOCUMENTS: &[&str] = &[
    "yes: 1",
    "010: 1",
    "1.5: 1",
    "1e7: 1",
    "1e3: 1",
    "0.00001: 1",
    "~: 1",
    "12:30: 1",
    "true: 1",
    "? [a]\n    : 1",
    "[a]: 1",
    "{a: 1}: 2",
    "a: 1\n    a: 2",
    "a: &x {b: 1, c: 2}\n    d: {<<: *x, c: 3}",
    "a: &x {b: 1, c: 2}\n    d: {c: 3, <<: *x}",
    "a: &x {b: 1}\n    e: &y {b: 2, f: 3}\n    d:\n      <<: [*x, *y]",
    "a: &x [1]\n    d: {<<: *x}",
    "a: &x {b: 1}\n    d: {<<: *x, <<: {b: 2}}",
    "a: &x 1\n    b: *x",
    "a: &x k\n    *x : 1",
    "a: {<<: 1}",
    "\"a\": 1",
    "a : 1",
    "a:\n    - 1\n    - 2",
    "a:\n    -1",
    "'a': b",
    "a: b: c",
    "a: 1\n     b: 2",
    "a: 1\n   b: 2",
    "a: 1 # one",
    "a: |1\n      x",
    "a: >\n      x\n\n      y\n",
    "1_0: a",
    "0x10: a",
    "1.0: a",
    "100000.0: a",
    "1000000.0: a",
    "-1.5e-7: a",
];

fn with_value(value: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\nspec:\n  data: {value}\n"
    )
}

fn with_fields(fields: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\nspec:\n  data:\n    {fields}\n"
    )
}

/// kubectl's reading of a text: the `spec` of its first object, or `None` if it rejects the text.
async fn as_kubectl_reads(kubectl: &Kubectl, text: &str) -> Option<Value> {
    let arguments = ["label", "--local", "--dry-run=client", "-o", "json", "-f", "-", "x=y"];
    let output = kubectl.run_with_input(&arguments, text).await.ok()?;
    let first = serde_json::Deserializer::from_str(&output).into_iter::<Value>().next()?.ok()?;
    Some(first["spec"].clone())
}

/// Almanac's reading of a text. Some findings are only ours: kubectl silently uses the last of two keys.
fn as_we_read(text: &str) -> (Option<Value>, Vec<String>) {
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("f", text));
    let codes = reading.findings.iter().map(|it| it.finding.code.name().to_owned()).collect();
    (reading.objects.first().map(|object| object.node.to_json()["spec"].clone()), codes)
}

/// Normalizes a value: `label` may omit nulls, so nulls are absent. Numbers are compared by value.
fn normal(value: Option<Value>) -> Option<Value> {
    fn clean(value: Value) -> Value {
        match value {
            Value::Number(number) => match number.as_i64() {
                Some(whole) => whole.into(),
                None => number.as_f64().map_or(Value::Null, |float| format!("{float:e}").into()),
            },
            Value::Array(items) => items.into_iter().map(clean).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, value)| (key, clean(value))).collect()
            }
            other => other,
        }
    }
    value.map(clean)
}

#[test]
fn odd_yaml_is_read_as_kubectl_reads_it() -> TestResult {
    on_shared_cluster(async |test| {
        let kubectl = test.kubectl().await?;
        let values = VALUES.iter().map(|value| with_value(value));
        let documents = DOCUMENTS.iter().map(|fields| with_fields(fields));
        let mut differences = Vec::new();
        let mut read = 0;
        // A text need not end its last line; block text then determines its end.
        let unended = ["|\n    x", ">\n    x", "|+\n    x", "\"x\\", "x"]
            .map(|value| with_value(value).trim_end().to_owned());
        for text in values.chain(documents).chain(unended) {
            let theirs = normal(as_kubectl_reads(&kubectl, &text).await);
            let (ours, codes) = as_we_read(&text);
            let ours = normal(ours);
            read += usize::from(theirs.is_some());
            // A text that kubectl rejects must be a finding here; some of these texts are read anyway.
            let agree = if theirs.is_some() { ours == theirs } else { !codes.is_empty() };
            if !agree {
                differences
                    .push(format!("{text}  kubectl: {theirs:?}\n  we: {ours:?} {codes:?}\n"));
            }
        }
        assert!(read > 100, "kubectl read only {read} of the texts: the comparison is void");
        assert!(
            differences.is_empty(),
            "{} differences:\n{}",
            differences.len(),
            differences.join("\n")
        );
        Ok(())
    })
}
