//! The formats for other programs, read back by independent programs.

use std::collections::BTreeSet;

use almanac_api::reading::{Reading, Source, read_objects};
use icalendar::parser::{read_calendar, unfold};
use serde_json::Value;

use crate::forecast::running::{
    BROKEN, NIGHT, NODES, PRESENT, SHOP, almanac, folder_with, forecast,
};
use crate::running::{Ran, list, word};

/// A rule whose name has special characters of the formats, and the start of a formula in a spreadsheet.
fn hostile() -> String {
    SHOP.replace("name: open", r#"name: "=1+1;\"ü\", \\ 🕑\nb""#)
}

fn folder(name: &str) -> std::path::PathBuf {
    folder_with(name, &[("shop.yaml", SHOP), ("night.yaml", NIGHT), ("nodes.yaml", NODES)])
}

/// The properties of each event.
fn events(ran: &Ran) -> Vec<Vec<(String, String)>> {
    for line in ran.stdout.split_terminator("\r\n") {
        assert!(line.len() <= 75 && !line.contains(['\r', '\n']), "{line:?}");
    }
    let unfolded = unfold(&ran.stdout);
    let calendar = read_calendar(&unfolded).unwrap();
    let of_calendar = |key: &str| calendar.properties.iter().any(|it| it.name == key);
    for key in ["VERSION", "PRODID", "X-WR-CALNAME", "REFRESH-INTERVAL"] {
        assert!(of_calendar(key), "{key}");
    }
    let event = |it: &icalendar::parser::Component<'_>| {
        let properties = it.properties.iter();
        properties.map(|it| (it.name.to_string(), it.val.to_string())).collect()
    };
    calendar.components.iter().filter(|it| it.name == "VEVENT").map(event).collect()
}

fn property<'a>(event: &'a [(String, String)], key: &str) -> &'a str {
    &event.iter().find(|(known, _)| known == key).unwrap().1
}

/// An instant such as `2026-11-27T17:00:00Z` in the format of a calendar.
fn in_calendar(at: &Value) -> String {
    word(at).replace(['-', ':'], "")
}

fn rows(ran: &Ran) -> Vec<csv::StringRecord> {
    assert!(ran.stdout.ends_with("\r\n"));
    let mut reader = csv::Reader::from_reader(ran.stdout.as_bytes());
    assert_eq!(reader.headers().unwrap().get(0), Some("place"));
    reader.records().map(Result::unwrap).collect()
}

#[test]
fn yaml_is_the_same_document_as_json() {
    let folder = folder("formats-yaml");
    for arguments in [
        vec!["forecast", "-f", ".", "--from", PRESENT],
        vec!["next", "-f", ".", "--from", PRESENT],
        vec!["next", "-f", ".", "--from", PRESENT, "--for", "1s"],
        vec!["explain", "-f", ".", "cronfhpa/shop-hours", "--at", PRESENT],
        vec!["when", "-f", ".", "--from", PRESENT],
        vec!["when", "@daily", "--from", PRESENT],
        vec!["diff", "shop.yaml", "nodes.yaml", "--from", PRESENT],
        vec!["validate", ".", "--from", PRESENT],
        vec!["lint", ".", "--from", PRESENT],
        vec!["version"],
    ] {
        let in_format = |format| almanac(&folder, &[&arguments[..], &["-o", format]].concat());
        let yaml = in_format("yaml").stdout.replace('\n', "\n  ");
        // The YAML is read like a file of a user.
        let head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  ";
        let mut reading = Reading::default();
        read_objects(&mut reading, Source::new("told.yaml", format!("{head}{yaml}")));
        assert_eq!(reading.objects[0].node.to_json()["spec"], in_format("json").json(), "{yaml}");
    }
}

#[test]
fn a_row_of_csv_is_a_segment_of_json() {
    let folder = folder_with("formats-csv", &[("shop.yaml", &hostile()), ("nodes.yaml", NODES)]);
    let output = forecast(&folder, &["-o", "json"]).json();
    let mut expected = Vec::new();
    for series in list(&output["series"]) {
        for segment in list(&series["segments"]) {
            let (target, policy) = (&series["target"], &segment["policy"]);
            let cells = [
                &series["place"],
                &target["apiVersion"],
                &target["kind"],
                &target["namespace"],
                &target["name"],
                &series["field"],
                &segment["from"],
                &segment["to"],
                &segment["value"],
                &policy["kind"],
                &policy["namespace"],
                &policy["name"],
                &policy["rule"],
                &segment["reason"],
                &Value::Null,
            ];
            let cell = |value: &&Value| match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            expected.push(cells.iter().map(cell).collect::<Vec<_>>());
        }
    }
    let rows = rows(&forecast(&folder, &["-o", "csv"]));
    assert_eq!(rows, expected);
    assert!(rows.iter().any(|row| row[12].starts_with("=1+1;\"ü\", \\ 🕑\n")), "{rows:?}");
}

#[test]
fn an_event_of_the_calendar_is_a_segment_that_a_policy_has_set() {
    let folder = folder_with("formats-ics", &[("shop.yaml", &hostile()), ("nodes.yaml", NODES)]);
    let output = forecast(&folder, &["-o", "json"]).json();
    let segments = list(&output["series"]).iter().flat_map(|it| list(&it["segments"]));
    let set = segments.filter(|it| it.get("policy").is_some());
    let expected: Vec<_> =
        set.map(|it| (in_calendar(&it["from"]), in_calendar(&it["to"]))).collect();
    let events = events(&forecast(&folder, &["-o", "ics"]));
    let found = events
        .iter()
        .map(|it| (property(it, "DTSTART").to_owned(), property(it, "DTEND").to_owned()));
    assert!(expected.len() > 10);
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let summaries: BTreeSet<&str> = events.iter().map(|it| property(it, "SUMMARY")).collect();
    assert!(summaries.contains("shop: replicas 10"), "{summaries:?}");
    let name = "=1+1;\"ü\", \\ 🕑\nb: at";
    assert!(events.iter().any(|it| property(it, "DESCRIPTION").contains(name)), "{events:?}");
}

#[test]
fn a_later_calendar_changes_its_events_and_adds_no_copies() {
    let folder = folder("formats-uids");
    let command = |from: &str| {
        let command = ["forecast", "-f", ".", "--from", from, "--to", "2026-12-05", "-o", "ics"];
        let events = events(&almanac(&folder, &command));
        let uids = events.iter().map(|it| property(it, "UID").to_owned());
        let all: BTreeSet<String> = uids.collect();
        assert_eq!(all.len(), events.len(), "an identifier is not unique");
        all
    };
    let (first, later) = (command("2026-11-20T00:00:00Z"), command("2026-11-23T01:00:00Z"));
    assert!(later.len() > 5 && later.len() < first.len());
    assert!(later.is_subset(&first), "{:?}", later.difference(&first));
}

#[test]
fn each_event_of_the_calendar_of_next_is_a_next_action() {
    let folder = folder("formats-next");
    let in_format = |format| {
        almanac(&folder, &["next", "-f", ".", "--from", PRESENT, "--for", "7d", "-o", format])
    };
    let output = in_format("json").json();
    let items = list(&output["items"]);
    assert!(items.len() > 10);
    let events = events(&in_format("ics"));
    let at: Vec<_> = items.iter().map(|it| in_calendar(&it["at"])).collect();
    assert_eq!(events.iter().map(|it| property(it, "DTSTART")).collect::<Vec<_>>(), at);
    let rows = rows(&in_format("csv"));
    let of_rows: Vec<_> = rows.iter().map(|row| (&row[1], &row[5], &row[11])).collect();
    let expected: Vec<_> = items
        .iter()
        .map(|it| (word(&it["at"]), word(&it["policy"]["name"]), word(&it["what"])))
        .collect();
    assert_eq!(of_rows, expected);
}

#[test]
fn the_table_and_the_calendar_of_a_schedule_have_its_instants() {
    let folder = folder("formats-when");
    for schedule in
        [&["30 8 * * 1-5"][..], &["--daily", "22:00-06:00"], &["cronfhpa/shop-hours", "-f", "."]]
    {
        let in_format = |format| {
            let usual = ["when", "--from", PRESENT, "--zone", "Europe/Berlin", "-o", format];
            // The schedules of objects have their own zones.
            let usual = if schedule.contains(&"-f") {
                [&usual[..3], &usual[5..]].concat()
            } else {
                usual.to_vec()
            };
            almanac(&folder, &[&usual[..], schedule].concat())
        };
        let output = in_format("json").json();
        let items: Vec<&Value> = match output["schedules"].as_array() {
            Some(all) => all.iter().flat_map(|it| list(&it["items"])).collect(),
            None => list(&output["items"]).iter().collect(),
        };
        assert!(items.len() > 4, "{output:#}");
        let events = events(&in_format("ics"));
        let at: Vec<_> = items.iter().map(|it| in_calendar(&it["at"])).collect();
        assert_eq!(events.iter().map(|it| property(it, "DTSTART")).collect::<Vec<_>>(), at);
        let output: Vec<_> =
            rows(&in_format("csv")).iter().map(|it| (it[7].to_owned(), it[8].to_owned())).collect();
        let text = |it: &Value, key: &str| word(&it[key]).to_owned();
        let items: Vec<_> = items.iter().map(|it| (text(it, "at"), text(it, "what"))).collect();
        assert_eq!(output, items);
    }
}

#[test]
fn notes_that_a_table_or_a_calendar_cannot_hold_go_to_standard_error() {
    let folder = folder_with("formats-told", &[("a.yaml", SHOP), ("b.yaml", BROKEN)]);
    for format in ["csv", "ics"] {
        forecast(&folder, &["-o", format]).assert_stderr(&[
            "b.yaml",
            "five fields",
            "assumed: before",
        ]);
    }
}
