//! The text output at three widths, and the highlights in every output.

use std::path::Path;

use serde_json::Value;

use crate::forecast::running::in_one_line;
use crate::forecast::{almanac, assert_written_down, command, folder_with};
use crate::running::{Ran, list, word};

fn examples(width: u32) -> Ran {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = ["forecast", "-f", "examples", "--from", "2026-11-26", "--for", "2d"];
    let mut command = command(&root, &[&arguments[..], &["--zone", "Europe/Berlin"]].concat());
    Ran::from_output(&command.env("COLUMNS", width.to_string()).output().unwrap())
}

/// The words outside the drawing, with any line breaks.
fn words(shown: &str) -> Vec<&str> {
    let output_text = shown.lines().filter(|line| !line.contains(['┤', '╷']));
    output_text.flat_map(str::split_whitespace).collect()
}

#[test]
fn the_text_has_the_same_content_at_60_80_and_200_columns() {
    let widths = [60, 80, 200].map(|width| (width, examples(width)));
    for (width, output) in &widths {
        assert_written_down(&format!("examples.{width}.txt"), output);
        let broken = output.stdout.lines().filter(|line| line.chars().count() > *width as usize);
        // A longer word has a separate line.
        let too_wide: Vec<&str> =
            broken.filter(|line| line.trim_start_matches(['!', '~', ' ']).contains(' ')).collect();
        assert!(too_wide.is_empty(), "wider than {width}: {too_wide:?}");
    }
    let [narrow, usual, wide] = widths.map(|(_, output)| output.stdout);
    assert!(words(&narrow).len() > 500);
    assert_eq!(words(&narrow), words(&usual));
    assert_eq!(words(&usual), words(&wide));
}

/// Windows that overlap, by rank and by order only, and with a gap; two policies that set one number, in part at the
/// same instant.
const CONTESTED: &str = include_str!("contested.yaml");

const OUT: [&str; 5] = [
    "behaviors[1] requests another value, behaviors[0] decides",
    "behaviors[2] requests another value, behaviors[3] decides",
    "a gap without an open rule",
    "down requests another value, eight decides",
    "other lunch takes over from base up",
];

#[test]
fn overlaps_gaps_and_contested_times_stand_out_in_every_output() {
    let folder = folder_with("stands-out", &[("all.yaml", CONTESTED)]);
    let forecast = |output| {
        let arguments =
            ["forecast", "-f", ".", "--from", "2026-03-02", "--for", "2d", "-o", output];
        almanac(&folder, &arguments)
    };
    assert_written_down("contested.txt", &forecast("text"));
    assert_written_down("contested.svg", &forecast("svg"));
    assert_written_down("contested.json", &forecast("json"));
    for output in ["text", "svg", "html"] {
        let report = forecast(output).stdout;
        // A line of a picture is an element.
        let (mut report, mut rest) = (String::new(), report.as_str());
        while let Some((before, after)) = rest.split_once("</text>\n<text") {
            report += before;
            report.push(' ');
            rest = after.split_once('>').unwrap().1;
        }
        let report = report + rest;
        let report = in_one_line(&report);
        for words in OUT {
            assert!(report.contains(words), "{words} in {output}");
        }
    }
    let report = forecast("json").json();
    let overlaps = |series: usize| {
        let all = list(&report["series"][series]["overlaps"]).iter();
        let report = all.map(|it| {
            let text = |it: &Value| word(it)[8..16].replace('T', " ");
            let rule = word(&it["policy"]["rule"]);
            format!("{} to {}: {rule}", text(&it["from"]), text(&it["to"]))
        });
        report.collect::<Vec<_>>()
    };
    assert_eq!(overlaps(0), ["02 20:00 to 02 20:00: down", "03 20:00 to 03 20:00: down"]);
    let of_windows = overlaps(1);
    let expected = ["02 10:00 to 02 11:00: behaviors[1]", "02 16:00 to 02 18:00: behaviors[2]"];
    assert_eq!(of_windows[..2], expected);
    assert_eq!(of_windows.len(), 4);
}

#[test]
fn windows_with_the_same_value_are_not_highlights() {
    let rewritten =
        CONTESTED.replace("replicas: 12,", "replicas: 8,").replace("replicas: 30,", "replicas: 9,");
    let rewritten = rewritten.split("---").next().unwrap().replace("minutes: '4'", "minutes: '0'");
    let folder = folder_with("alike", &[("all.yaml", &rewritten)]);
    let shown = almanac(&folder, &["forecast", "-f", ".", "--from", "2026-03-02"]).stdout;
    assert!(!shown.contains('~') && !shown.contains('!'), "{shown}");
}

#[test]
fn the_page_data_contain_units_with_their_caps() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = ["forecast", "-f", "examples/units", "--from", "2026-03-02", "--for", "1d"];
    let mut output =
        almanac(&root, &[&arguments[..], &["-o", "html", "ResourcePolicy/tickets"]].concat());
    let (_, rest) = output.stdout.split_once("id=\"forecast\">").unwrap();
    let data: Value = serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(
        data["parts"][0]["rows"][0]["caps"],
        serde_json::json!({"reserved": 20, "spot": 30})
    );
    output.stdout = serde_json::to_string_pretty(&data).unwrap();
    assert_written_down("units.columns.json", &output);
}

/// `Deployment.apps default/shop replicas`.
fn title(series: &Value) -> String {
    let target = &series["target"];
    let group = word(&target["apiVersion"]).split_once('/');
    let group = group.map_or(String::new(), |(group, _)| format!(".{group}"));
    let name = format!("{}/{}", word(&target["namespace"]), word(&target["name"]));
    format!("{}{group} {name} {}", word(&target["kind"]), word(&series["field"]))
}

/// The shapes of a group in a picture: the name of the value, the start, the end and the value.
fn shapes(picture: &str, title: &str) -> Vec<[String; 4]> {
    let value = |shape: &str, name: &str| {
        let found = shape
            .split_once(&format!(" {name}=\""))
            .map(|(_, rest)| rest.split('"').next().unwrap());
        found.unwrap_or_default().to_owned()
    };
    let groups = picture.split("<g role=\"group\" aria-label=\"").skip(1);
    let of_series = groups.filter(|it| {
        it.starts_with(&format!("{title}\"")) || it.starts_with(&format!("{title}, "))
    });
    let shapes =
        of_series.flat_map(|group| group.lines().filter(|line| line.contains("data-from")));
    shapes
        .map(|it| ["data-name", "data-from", "data-to", "data-value"].map(|name| value(it, name)))
        .collect()
}

/// The parts of a value as in a picture: the numbers by name, or one part for each listed name.
fn pieces(value: &Value) -> Vec<(String, String)> {
    let one = |value: &str| vec![(String::new(), value.to_owned())];
    match value {
        Value::Number(number) => one(&number.to_string()),
        Value::String(text) => one(text),
        Value::Array(names) if !names.is_empty() => {
            names.iter().flat_map(|it| one(word(it))).collect()
        }
        Value::Object(numbers) if !numbers.is_empty() => {
            numbers.iter().map(|(name, it)| (name.clone(), it.to_string())).collect()
        }
        Value::Array(_) | Value::Object(_) | Value::Null | Value::Bool(_) => Vec::new(),
    }
}

#[test]
fn picture_text_and_json_agree_for_every_kind_of_value() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let arguments = ["forecast", "-f", "examples", "--from", "2026-11-26", "--for", "2d", "-o"];
    let forecast = |output| almanac(&root, &[&arguments[..], &[output]].concat());
    let (report, picture, shown) =
        (forecast("json").json(), forecast("svg").stdout, forecast("text").stdout);
    let shown = in_one_line(&shown);
    let (mut kinds, mut count) = (std::collections::BTreeSet::new(), 0);
    for series in list(&report["series"]) {
        let title = title(series);
        let shapes = shapes(&picture, &title);
        assert!(!shapes.is_empty(), "{title} is not in the picture");
        let section =
            shown.split_once(&format!("{title} ")).or(shown.split_once(&format!("{title}, ")));
        let (_, section) = section.unwrap_or_else(|| panic!("{title} is not in the text"));
        for segment in list(&series["segments"]) {
            let at = word(&segment["from"]);
            let of_now = shapes.iter().filter(|[_, from, to, _]| &**from <= at && at < &**to);
            let drawn: Vec<_> =
                of_now.map(|[name, _, _, value]| (name.clone(), value.clone())).collect();
            for piece in pieces(&segment["value"]) {
                assert!(drawn.contains(&piece), "{piece:?} of {title} at {at}: {drawn:?}");
                count += 1;
            }
            let others = drawn.iter().filter(|(_, value)| value != "none" && value != "unknown");
            assert_eq!(others.count(), pieces(&segment["value"]).len(), "{title} at {at}");
            // For a repeated value, the text has the first reason.
            let known = list(&series["segments"]).iter().any(|it| {
                it["value"] == segment["value"]
                    && it["policy"] == segment["policy"]
                    && section.contains(&in_one_line(word(&it["reason"])))
            });
            assert!(known, "{} of {title} is not in the text", segment["reason"]);
            kinds.insert(match &segment["value"] {
                Value::Number(_) => "a number",
                Value::String(_) => "a level",
                Value::Array(_) => "clusters",
                Value::Object(_) => "units",
                Value::Null | Value::Bool(_) => "nothing",
            });
        }
    }
    let expected = ["a level", "a number", "clusters", "nothing", "units"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
    assert!(count > 100, "{count}");
}
