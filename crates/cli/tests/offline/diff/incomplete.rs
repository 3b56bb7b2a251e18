//! A side with an unusable object in it: a difference caused by that object is not an intended change.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use crate::diff::revisions::empty_repository;
use crate::diff::running::{cron, diff, shop, sides, weekend_shop};
use crate::running::{commit, write};

#[test]
fn a_mistake_in_the_new_files_fails_and_a_fixed_mistake_does_not() {
    let broken = shop().replace("0 8 * * *", "0 8 * *");
    let folder = sides("broken", &[("shop.yaml", &shop())], &[("shop.yaml", &broken)]);
    let output = diff(&folder, &["old", "new"]).ended(1);
    output.assert_stdout(&["Findings in the new files, new:", "new/shop.yaml:7:"]);
    diff(&folder, &["new", "old"]).ended(0).assert_stdout(&["Findings in the old files"]);
    let report = diff(&folder, &["old", "new", "-o", "json"]).json();
    assert_eq!(report["findings"][0]["side"], "new");
    diff(&folder, &["old", "new", "--fail-on", "never"]).ended(0);
}

#[test]
fn an_effect_of_a_broken_object_is_not_a_change_and_a_gate_stays_shut() {
    let cart = cron("cart", "cart", &[("open", "0 9 * * *", 3)]);
    let broken = shop().replace("targetReplicas", "targetreplicas");
    let (old, new) = (shop() + &cart, broken + &cart.replace(": 3}", ": 4}"));
    let folder = sides("unusable", &[("a.yaml", &old)], &[("a.yaml", &new)]);
    let lenient = ["old", "new", "--fail-on", "never"];
    let output_text = diff(&folder, &lenient).ended(0).stdout;
    let second = output_text.lines().nth(1).unwrap();
    let incomplete = "The new side is incomplete: CronFederatedHPA.autoscaling.karmada.io default/shop-hours cannot \
                      be used as written. Anything that depends on it is not compared; see the findings.";
    assert_eq!(second, incomplete);
    assert!(
        output_text.contains("old → new: 1 of 1 value changes and 1 is not compared"),
        "{output_text}"
    );
    assert!(
        !output_text.contains("no longer set") && !output_text.contains("default/shop:"),
        "{output_text}"
    );
    let report = diff(&folder, &[&lenient[..], &["-o", "json"]].concat()).json();
    assert_eq!(report["differences"].as_array().unwrap().len(), 1);
    assert_eq!(
        report["incomplete"][0],
        "CronFederatedHPA.autoscaling.karmada.io default/shop-hours"
    );
    assert_eq!(report["summary"]["notCompared"], 1);
    for format in ["markdown", "html"] {
        diff(&folder, &[&lenient[..], &["-o", format]].concat())
            .assert_stdout(&["The new side is incomplete"]);
    }
    // Nothing else changes, and the result is still unknown.
    let other = shop().replace("targetReplicas", "targetreplicas");
    let folder = sides("unusable-only", &[("a.yaml", &shop())], &[("a.yaml", &other)]);
    diff(&folder, &[&lenient[..], &["--fail-on-change"]].concat())
        .ended(1)
        .assert_stdout(&["No change is known: 0 values compared, 1 is not"]);
}

#[test]
fn a_file_that_only_one_side_excludes_is_not_a_change() {
    let cart = cron("cart", "cart", &[("open", "0 9 * * *", 3)]);
    let shop = shop();
    let files = [("a.yaml", shop.as_str()), ("tests/b.yaml", cart.as_str())];
    let exclude = ("almanac.toml", "exclude = [\"/tests\"]\n");
    let folder = sides("excluded", &files, &[files[0], files[1], exclude]);
    let gone = diff(&folder, &["old", "new", "--fail-on-change"]);
    let output_text = gone.stdout;
    assert!(output_text.contains("Not compared, although it differs: tests."), "{output_text}");
    let stderr = format!("{output_text}{}", gone.stderr);
    assert!(stderr.contains("tests is excluded by almanac.toml on one side only"), "{stderr}");
    assert!(
        !output_text.contains("no longer set") && !output_text.contains("default/cart:"),
        "{output_text}"
    );
    assert_eq!(gone.code, Some(1), "the change is unknown");
    diff(&folder, &["new", "old"]).assert_stdout(&["Not compared, although it differs: tests."]);
    // Where both exclude it, nothing changes.
    write(&folder, &[("old/almanac.toml", exclude.1)]);
    diff(&folder, &["old", "new", "--fail-on-change"]).ended(0);
}

#[test]
fn an_object_that_may_be_in_an_unreadable_file_is_not_listed_as_removed() {
    let cart = cron("cart", "cart", &[("open", "0 9 * * *", 3)]);
    let unread = shop().replace("rules:", "rules: [");
    let folder = sides(
        "unread",
        &[("a.yaml", &shop()), ("b.yaml", &cart)],
        &[("a.yaml", &unread), ("b.yaml", &cart)],
    );
    diff(&folder, &["old", "new"]).assert_stdout(&[
        "The new side is incomplete: new/a.yaml cannot be used",
        "No change is known: 1 value compared, 1 is not",
    ]);
}

#[test]
fn readers_of_a_broken_schedule_are_not_compared_either() {
    let folder = sides(
        "unusable-schedule",
        &[("a.yaml", crate::diff::families::READ_SCHEDULE)],
        &[("a.yaml", &crate::diff::families::READ_SCHEDULE.replace("hours: 17", "hours: 99"))],
    );
    diff(&folder, &["old", "new"])
        .assert_stdout(&["No change is known: 0 values compared, 2 are not"]);
}

const PATCHED: &str = "resources: [shop.yaml]\npatches: [{path: patch.yaml}]\n";
const CHART: &str = "apiVersion: v2\nname: shop\nversion: 1.0.0\n";

/// Files, each as its path and its text.
type Files<'a> = &'a [(&'a str, &'a str)];

fn templated() -> String {
    shop().replace(": 10}", ": {{ .Values.replicas }}}")
}

/// The exit code and the output of a gate, for the same change as two directories and as two commits.
#[track_caller]
fn gate(name: &str, old: Files<'_>, new: Files<'_>) -> Vec<(Option<i32>, String)> {
    let folders = sides(name, old, new);
    let repository = empty_repository(&format!("{name}-git"));
    commit(&repository, &[&[("README.md", "shop")], old].concat());
    for (path, _) in old {
        fs::remove_file(repository.join(path)).unwrap();
    }
    write(&repository, new);
    let strict = ["--fail-on", "never", "--fail-on-change"];
    let run = |folder, arguments: &[&str]| {
        let output = diff(folder, &[arguments, &strict].concat());
        (output.code, output.stdout)
    };
    let of_folders = run(&folders, &["old", "new"]);
    let of_tree = run(&repository, &["--git", "HEAD"]);
    commit(&repository, &[]);
    vec![of_folders, of_tree, run(&repository, &["--git", "HEAD~1..HEAD"])]
}

#[test]
fn a_change_in_an_unrendered_file_keeps_the_gate_shut() {
    let (base, late) = (shop(), shop().replace("0 20", "0 22"));
    let patch = shop().replace(": 10}", ": 40}");
    let chart = templated();
    let substituted = shop().replace(": 10}", ": ${N}}");
    let substituted_late = late.replace(": 10}", ": ${N}}");
    let component = "kind: Component\npatches: [{path: patch.yaml}]\n";
    let with_component = "resources: [../base/shop.yaml]\ncomponents: [../more]\n";
    let cases: &[(&str, Files<'_>, Files<'_>, &str)] = &[
        (
            "patch",
            &[("kustomization.yaml", PATCHED), ("shop.yaml", &base), ("patch.yaml", &base)],
            &[("kustomization.yaml", PATCHED), ("shop.yaml", &base), ("patch.yaml", &patch)],
            "",
        ),
        (
            "component",
            &[
                ("prod/kustomization.yaml", with_component),
                ("base/shop.yaml", &base),
                ("more/kustomization.yaml", component),
                ("more/patch.yaml", &base),
            ],
            &[
                ("prod/kustomization.yaml", with_component),
                ("base/shop.yaml", &base),
                ("more/kustomization.yaml", component),
                ("more/patch.yaml", &patch),
            ],
            "prod",
        ),
        (
            "values",
            &[
                ("c/Chart.yaml", CHART),
                ("c/values.yaml", "replicas: 3"),
                ("c/templates/a.yaml", &chart),
            ],
            &[
                ("c/Chart.yaml", CHART),
                ("c/values.yaml", "replicas: 4"),
                ("c/templates/a.yaml", &chart),
            ],
            "c",
        ),
        (
            "chart-gone",
            &[("c/Chart.yaml", CHART), ("c/templates/a.yaml", &chart)],
            &[("b.yaml", "a: 1")],
            "c",
        ),
        ("substituted", &[("a.yaml", &substituted)], &[("a.yaml", &substituted_late)], "a.yaml"),
    ];
    for (name, old, new, named) in cases {
        for (code, output_text) in gate(&format!("noted-{name}"), old, new) {
            assert_eq!(code, Some(1), "{name}: {output_text}");
            let line =
                output_text.lines().find(|it| it.starts_with("Not compared")).unwrap_or_default();
            assert!(line.contains(named) && !line.is_empty(), "{name}: {output_text}");
            assert!(!output_text.contains("Nothing changes"), "{name}: {output_text}");
        }
    }
    let (_, old, new, _) = cases[2];
    let folder = sides("noted-formats", old, new);
    let report = diff(&folder, &["old", "new", "-o", "json"]).json();
    assert_eq!(report["incomplete"], serde_json::json!(["new/c"]));
    for format in ["markdown", "html"] {
        diff(&folder, &["old", "new", "-o", format])
            .assert_stdout(&["Not compared, although it differs: new/c"]);
    }
}

#[test]
fn a_chart_that_differs_is_not_compared_in_the_headline_and_noted_once_in_every_format() {
    let (chart, again) = (templated(), templated().replace("0 20", "0 22"));
    let folder = sides(
        "noted-once",
        &[("c/Chart.yaml", CHART), ("c/templates/a.yaml", &chart)],
        &[("c/Chart.yaml", CHART), ("c/templates/a.yaml", &again)],
    );
    for format in ["text", "markdown", "html", "json"] {
        let ran = diff(&folder, &["old", "new", "-o", format]).ended(0);
        ran.assert_stdout(&["add --helm c to almanac diff, or list it in almanac.toml"]);
        let output_text = ran.stdout;
        assert_eq!(ran.stderr, "", "{output_text}");
        assert_eq!(output_text.matches("is a Helm chart").count(), 1, "{output_text}");
        assert_eq!(
            output_text.contains("Not compared: 1 path that differs"),
            format != "json",
            "{output_text}"
        );
    }
    let report = diff(&folder, &["old", "new", "-o", "json"]).json();
    assert_eq!(report["notCompared"], serde_json::json!(["new/c"]));
    diff(&folder, &["old", "new", "--fail-on-change"]).ended(1);
}

#[test]
fn a_change_in_a_file_that_is_too_large_keeps_the_gate_shut() {
    let folder = sides("noted-large", &[("a.yaml", "")], &[("a.yaml", "")]);
    let gate = || diff(&folder, &["old", "new", "--fail-on-change"]).code;
    let files = ["old", "new"].map(|side| fs::File::create(folder.join(side).join("a.yaml")));
    for file in files {
        file.unwrap().set_len(65 << 20).unwrap();
    }
    assert_eq!(gate(), Some(0));
    let mut file = fs::OpenOptions::new().write(true).open(folder.join("new/a.yaml")).unwrap();
    file.seek(SeekFrom::End(-1)).unwrap();
    file.write_all(b"#").unwrap();
    assert_eq!(gate(), Some(1));
}

#[test]
fn an_unrendered_file_that_is_the_same_on_both_sides_is_not_a_change() {
    let chart = templated();
    let same = [
        ("c/Chart.yaml", CHART),
        ("c/values.yaml", "replicas: 3"),
        ("c/templates/a.yaml", &*chart),
        ("k/kustomization.yaml", PATCHED),
        ("k/shop.yaml", &shop()),
        ("k/patch.yaml", &shop()),
    ];
    let with = |readme| [&same[..], &[("docs/README.md", readme)]].concat();
    for (code, output_text) in gate("noted-same", &with("old"), &with("new")) {
        assert_eq!(code, Some(0), "{output_text}");
        assert!(output_text.contains("Nothing changes"), "{output_text}");
    }
}

#[test]
fn an_object_that_may_be_in_a_new_template_is_not_listed_as_removed() {
    for (code, output_text) in
        gate("noted-template", &[("p.yaml", &shop())], &[("p.yaml", &templated())])
    {
        assert_eq!(code, Some(1), "{output_text}");
        assert!(
            output_text.contains("No change is known: 0 values compared, 1 is not"),
            "{output_text}"
        );
    }
    // The comparable parts are still reported.
    let (old, new) = (shop(), weekend_shop());
    let gone = templated().replace("shop", "cart");
    let cart = shop().replace("shop", "cart");
    let before = [("a.yaml", &*old), ("cart.yaml", &cart)];
    for (_, output_text) in gate("noted-beside", &before, &[("a.yaml", &new), ("cart.yaml", &gone)])
    {
        let headline =
            "1 of 1 value changes, 1 is not compared and 1 path that differs is not compared";
        assert!(output_text.contains(headline), "{output_text}");
    }
}
