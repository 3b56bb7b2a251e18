//! The documents name only flags of the binary, and all of them, and only files that exist. `readme`
//! tests the output of commands.

use crate::dashboard;
use almanac_api::kubernetes::KubernetesMinor;
use almanac_local::KubernetesVersion;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

fn root() -> anyhow::Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?)
}

#[test]
fn the_pages_about_the_processes_list_their_flags() -> anyhow::Result<()> {
    for (page, command) in [("controller.md", "controller"), ("qos-levels.md", "agent")] {
        let text = fs::read_to_string(root()?.join("docs").join(page))?;
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `--"));
        let listed: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
        let help = Command::new(env!("CARGO_BIN_EXE_almanac")).args([command, "--help"]).output();
        let help = String::from_utf8(help?.stdout)?;
        let flags = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
        let there: BTreeSet<&str> =
            flags.filter_map(|flag| flag.split([' ', '[']).next()).collect();
        assert!(there.len() > 10, "{there:?}");
        assert_eq!(listed, there, "left: docs/{page}; right: --help");
    }
    Ok(())
}

/// The alerts of a text, each as its lines without the indentation of the whole; comments belong to
/// the alert that follows.
fn alerts(text: &str) -> BTreeSet<String> {
    let begins = |line: &str| line.starts_with("- alert:") || line.starts_with('#');
    let mut alerts: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        match alerts.last_mut() {
            Some(alert) if alert.iter().all(|line| line.starts_with('#')) => alert.push(line),
            Some(alert) if !begins(line) => alert.push(line),
            _ => alerts.push(vec![line]),
        }
    }
    alerts.into_iter().map(|lines| lines.join("\n")).collect()
}

#[test]
fn the_alerts_in_the_file_are_those_on_the_page_about_metrics() -> anyhow::Result<()> {
    let page = fs::read_to_string(root()?.join("docs/metrics.md"))?;
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    // An alert that names a schedule is an example: no other installation has that schedule.
    let blocks = blocks.filter(|it| it.contains("- alert:") && !it.contains("namespace=\""));
    let listed: BTreeSet<String> = blocks.flat_map(alerts).collect();

    let file = fs::read_to_string(root()?.join("deploy/prometheus/alerts.yaml"))?;
    let groups = file.split("  rules:\n").skip(1);
    let groups = groups.map(|group| group.split("\n- name:").next().unwrap_or_default());
    let unindented = |group: &str| {
        let lines = group.lines().map(|line| line.strip_prefix("  ").unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    };
    let there: BTreeSet<String> = groups.flat_map(|group| alerts(&unindented(group))).collect();
    ensure!(there.len() > 4, "{there:?}");
    assert_eq!(listed, there, "left: docs/metrics.md; right: deploy/prometheus/alerts.yaml");
    Ok(())
}

/// The names in the first columns of the tables of metrics.
fn documented_metrics() -> anyhow::Result<BTreeSet<String>> {
    let page = fs::read_to_string(root()?.join("docs/metrics.md"))?;
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    Ok(rows.filter_map(|row| row.split('`').next()).map(str::to_owned).collect())
}

/// The metrics that an expression names. A part of a histogram counts as the histogram.
fn metrics_in(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let ours = ["almanac_", "karpenter_", "process_"];
    let named = words.filter(move |word| ours.iter().any(|prefix| word.starts_with(prefix)));
    named.map(|word| word.strip_suffix("_bucket").unwrap_or(word))
}

#[test]
fn the_dashboard_and_the_alerts_name_only_metrics_that_are_documented() -> anyhow::Result<()> {
    let documented = documented_metrics()?;
    let alerts = fs::read_to_string(root()?.join("deploy/prometheus/alerts.yaml"))?;
    let alerts = alerts.lines().filter_map(|line| line.trim().strip_prefix("expr: "));
    let shown = dashboard::expressions()?;
    ensure!(shown.len() > 20, "{shown:?}");
    let mut named = BTreeSet::new();
    for expression in alerts.chain(shown.iter().map(String::as_str)) {
        let metrics: BTreeSet<&str> = metrics_in(expression).collect();
        assert!(!metrics.is_empty(), "{expression} names no metric");
        named.extend(metrics.into_iter().map(str::to_owned));
    }
    let unknown: Vec<_> = named.difference(&documented).collect();
    assert!(unknown.is_empty(), "not in docs/metrics.md: {unknown:?}");
    // The dashboard shows all metrics except for the older name of the same numbers.
    let unseen: Vec<_> = documented.difference(&named).collect();
    assert_eq!(unseen, ["karpenter_scheduled_replicas_value"]);
    Ok(())
}

#[test]
fn every_panel_of_the_dashboard_queries_the_selected_prometheus() -> anyhow::Result<()> {
    let dashboard = dashboard::read()?;
    assert_eq!(dashboard["templating"]["list"][0]["name"], "datasource");
    assert_eq!(dashboard["templating"]["list"][0]["type"], "datasource");
    for panel in dashboard["panels"].as_array().context("no panels")? {
        for target in panel["targets"].as_array().into_iter().flatten() {
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        }
    }
    Ok(())
}

/// All documents of the repository.
fn documents(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(documents(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The targets of a document's links, without those outside the repository.
fn links(document: &str) -> impl Iterator<Item = &str> {
    let targets = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
}

/// The anchors of a document's headings, as on GitHub.
fn anchors(document: &str) -> BTreeSet<String> {
    let headings = document.lines().filter(|line| line.starts_with('#'));
    let keep = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|title| title.chars().filter(keep).collect::<String>().replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_in_the_documents_leads_somewhere() -> anyhow::Result<()> {
    let documents = documents(&root()?)?;
    ensure!(documents.len() > 10, "{documents:?}");
    let mut astray = Vec::new();
    for path in documents {
        let text = fs::read_to_string(&path)?;
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                _ => path.parent().context("it is in a folder")?.join(file),
            };
            let is_there = target.exists()
                && (anchor.is_empty() || anchors(&fs::read_to_string(&target)?).contains(anchor));
            if !is_there {
                astray.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(astray.is_empty(), "{astray:#?}");
    Ok(())
}

#[test]
fn an_anchor_is_a_heading_without_punctuation() {
    let anchors = anchors("# What happens if …\n\ntext\n## `a`, b\n");
    assert_eq!(anchors, ["a-b", "what-happens-if-"].map(String::from).into());
}

/// The documents that state versions of Kubernetes, and the sentence of each.
fn statements_of_versions() -> Vec<(&'static str, String)> {
    let [oldest, of_agent] = [KubernetesMinor::OLDEST, KubernetesMinor::OLDEST_OF_AGENT];
    let [.., newest] = KubernetesMinor::TESTED;
    let tested = KubernetesMinor::TESTED.map(|version| version.to_string()).join(", ");
    vec![
        ("README.md", format!("Kubernetes {oldest} or newer")),
        ("docs/first-policy.md", format!("Kubernetes {oldest} or newer")),
        ("docs/controller.md", format!("Kubernetes {oldest} or newer")),
        ("docs/units-in-a-cluster.md", format!("Kubernetes {oldest} or")),
        ("docs/compatibility.md", format!("| Kubernetes {tested} |")),
        ("docs/compatibility.md", format!("| Kubernetes {oldest} and newer |")),
        ("docs/compatibility.md", format!("| Kubernetes {of_agent} and newer |")),
        ("CONTRIBUTING.md", format!("the Kubernetes {newest} control plane")),
    ]
}

#[test]
fn every_document_states_the_same_versions_of_kubernetes() -> anyhow::Result<()> {
    for (document, statement) in statements_of_versions() {
        let text = fs::read_to_string(root()?.join(document))?;
        ensure!(text.contains(&statement), "{document} does not state {statement:?}");
    }
    let built = KubernetesVersion::ALL.map(KubernetesVersion::minor);
    assert_eq!(KubernetesMinor::TESTED.map(|version| version.to_string()), built);
    Ok(())
}
