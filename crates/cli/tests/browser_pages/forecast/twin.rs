//! The table of the page equals the output of `-o json`, segment by segment, and follows the view.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;

use crate::forecast::{assert_quiet, folder_of, forecast, open, text};

const ARGUMENTS: [&str; 6] = ["--from", "2026-11-20T12:00:00Z", "--for", "9d", "--zone", "UTC"];

fn formatted_time(at: &Value) -> String {
    let at: Timestamp = at.as_str().unwrap().parse().unwrap();
    let format =
        if at.as_second() % 60 == 0 { "%a %Y-%m-%d %H:%M UTC" } else { "%a %Y-%m-%d %H:%M:%S UTC" };
    at.strftime(format).to_string()
}

fn formatted_value(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(names) if names.is_empty() => "none".to_owned(),
        Value::Array(names) => {
            names.iter().map(|it| it.as_str().unwrap()).collect::<Vec<_>>().join(", ")
        }
        Value::Object(numbers) if numbers.is_empty() => "none".to_owned(),
        Value::Object(numbers) => {
            numbers.iter().map(|(name, it)| format!("{name} {it}")).collect::<Vec<_>>().join(", ")
        }
        Value::Null | Value::Bool(_) => String::new(),
    }
}

fn called(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let namespace = text("namespace");
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{} {namespace}{slash}{}", text("kind"), text("name"))
}

/// The rules with another value during a segment.
fn others(series: &Value, segment: &Value) -> String {
    let at = |it: &Value| it.as_str().unwrap().parse::<Timestamp>().unwrap();
    let (from, to) = (at(&segment["from"]), at(&segment["to"]));
    let mut others: Vec<String> = Vec::new();
    for overlap in series["overlaps"].as_array().into_iter().flatten() {
        let (begins, ends) = (at(&overlap["from"]), at(&overlap["to"]));
        let rule = &overlap["policy"];
        let name = format!("{} {}", called(rule), rule["rule"].as_str().unwrap());
        if begins < to && (ends > from || begins >= from) && !others.contains(&name) {
            others.push(name);
        }
    }
    others.join(", ")
}

/// The expected table, from the JSON. A null in the JSON is unknown, or absent.
fn expected(json: &Value) -> Vec<[String; 8]> {
    let mut lines = Vec::new();
    for series in json["series"].as_array().unwrap() {
        for segment in series["segments"].as_array().unwrap() {
            let policy = &segment["policy"];
            let rule = policy["rule"].as_str().map_or(String::new(), |rule| format!(" {rule}"));
            let by = if policy.is_null() { String::new() } else { called(policy) + &rule };
            let value = formatted_value(&segment["value"]);
            lines.push([
                formatted_time(&segment["from"]),
                formatted_time(&segment["to"]),
                called(&series["target"]),
                series["field"].as_str().unwrap().to_owned(),
                value,
                by,
                segment["reason"].as_str().unwrap().to_owned(),
                others(series, segment),
            ]);
        }
    }
    lines.sort();
    lines
}

#[test]
fn the_table_has_every_segment_of_the_json() {
    let folder = folder_of("twin");
    let json: Value = serde_json::from_str(&forecast(
        Path::new("examples"),
        &[&ARGUMENTS[..], &["-o", "json"]].concat(),
    ))
    .unwrap();
    let content = forecast(Path::new("examples"), &[&ARGUMENTS[..], &["-o", "html"]].concat());
    let mut page = open(&folder, &content);
    page.evaluate("document.getElementById('as-table').click()");
    let lines = "[...document.querySelectorAll('#table-body tr')].map((it) => [...it.children].map((cell) => cell.textContent))";
    let mut actual: Vec<[String; 8]> = Vec::new();
    loop {
        let of_page: Vec<[String; 8]> = serde_json::from_value(page.evaluate(lines)).unwrap();
        actual.extend(of_page);
        if page.evaluate("document.getElementById('table-after').disabled") == true {
            break;
        }
        page.evaluate("document.getElementById('table-after').click()");
    }
    // The JSON has null for both cases.
    for line in &mut actual {
        if line[4] == "unknown" || (line[4] == "none" && line[3] == "qosLevel") {
            line[4].clear();
        }
    }
    actual.sort();
    assert!(actual.iter().any(|line| !line[7].is_empty()), "some rules are outranked");
    let expected = expected(&json);
    assert!(expected.len() > 200, "{} segments", expected.len());
    for (actual, expected) in actual.iter().zip(&expected) {
        assert_eq!(actual, expected);
    }
    assert_eq!(actual.len(), expected.len());
    assert_quiet(&page);
}

#[test]
fn the_table_follows_the_zoom_and_the_filter() {
    let folder = folder_of("table");
    let content = forecast(Path::new("examples"), &[&ARGUMENTS[..], &["-o", "html"]].concat());
    let mut page = open(&folder, &content);
    page.evaluate("document.getElementById('as-table').click()");
    let all = text(&mut page, "table-page");
    page.evaluate("document.getElementById('closer').click()");
    let zoomed = text(&mut page, "table-page");
    assert_ne!(zoomed, all);
    page.evaluate(
        "(() => { const it = document.getElementById('filter'); it.value = 'shop-morning-peak'; \
         it.dispatchEvent(new Event('input')); })()",
    );
    let filtered = text(&mut page, "table-page");
    assert!(filtered.starts_with("Page 1 of 1, "), "{filtered}");
    let objects = "[...new Set([...document.querySelectorAll('#table-body th')].map((it) => it.textContent))]";
    assert_eq!(page.evaluate(objects), serde_json::json!(["Deployment default/shop"]));
    assert_quiet(&page);
}
