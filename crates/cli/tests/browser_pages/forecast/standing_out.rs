//! Highlights: overlaps, gaps and contested times, for any number of rows. Also unknown values.

use std::fmt::Write as _;
use std::fs;

use crate::chromium::Page;
use crate::forecast::{assert_quiet, folder_of, forecast, open, place_in, row, text};

fn page_of(test: &str, policies: &str) -> Page {
    let folder = folder_of(test);
    let files = folder.join("policies.yaml");
    fs::write(&files, policies).unwrap();
    let arguments = ["-o", "html", "--zone", "UTC", "--from", "2026-03-02", "--for", "2d"];
    open(&folder, &forecast(&files, &arguments))
}

/// The start and the end of a shape of a row, as shares of two days in hours.
fn hours(page: &mut Page, name: &str, class: &str) -> Vec<String> {
    let row = row(name);
    let shapes = page.evaluate(&format!(
        "(() => {{ const svg = {row}.querySelector('.drawing'), width = svg.viewBox.baseVal.width; \
         const hour = (x) => Math.round(x / width * 48 * 10) / 10; \
         return [...svg.querySelectorAll('.{class}')].flatMap((it) => it.getAttribute('d').split('Z').filter(Boolean)).map((d) => {{ \
           const [, x, end] = d.match(/^M([-.0-9]+) 0(?:H([.0-9]+)|h)/); \
           return end === undefined ? String(hour(+x + 5)) : hour(+x) + ' to ' + hour(+end); }}); }})()"
    ));
    serde_json::from_value(shapes).unwrap()
}

fn reason_at(page: &mut Page, name: &str, hour: f64) -> String {
    let place = place_in(page, name, hour / 48.0);
    page.click(place);
    let reason = text(page, "why-body");
    page.press("Escape");
    reason
}

#[test]
fn overlaps_gaps_and_takeovers_are_marked_and_explained() {
    let mut page = page_of("standing_out", include_str!("../../offline/forecast/contested.yaml"));
    page.resize(1440, 900);
    page.evaluate("document.getElementById('whole').click()");
    assert_eq!(hours(&mut page, "nodes", "overlap"), ["16 to 18", "40 to 42"]);
    assert_eq!(hours(&mut page, "nodes", "contested-time"), ["10 to 11", "12", "34 to 35", "36"]);
    assert_eq!(hours(&mut page, "web", "contested-time"), ["8", "12", "20", "32", "36", "44"]);
    let reason = reason_at(&mut page, "nodes", 17.0);
    assert!(reason.contains("but not\nMetricsProducer default/nodes behaviors[2]: "), "{reason}");
    assert!(reason.contains("behavior 3 has a higher priority"), "{reason}");
    let reason = reason_at(&mut page, "web", 13.0);
    assert!(reason.contains("instead of\n30, set by CronFederatedHPA default/base up"), "{reason}");
    let reason = reason_at(&mut page, "web", 21.0);
    assert!(
        reason.contains("CronFederatedHPA default/base down: sets 4 at the same instant"),
        "{reason}"
    );
    // Without a deciding rule, a step is hollow.
    let row = row("nodes");
    let fills = format!(
        "new Set([...{row}.querySelectorAll('.drawing path')].map((it) => it.getAttribute('class')))"
    );
    let classes = page.evaluate(&format!("[...{fills}].sort().join(' ')"));
    assert_eq!(classes, "contested-time nobody overlap rule0 rule1 rule2");
    assert_quiet(&page);
}

#[test]
fn highlights_show_among_many_values_and_skipped_checks_are_listed() {
    let mut policies = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-config, namespace: volcano-system}
data:
  config.yaml: |
    globalConfig:
      timeBasedQoSPolicies:
      - {name: night, startTime: '22:00', endTime: '08:00', selector: {matchLabels: {tier: low}}, targetQoSLevel: -1}
      - {name: early, startTime: '06:00', endTime: '10:00', selector: {matchLabels: {tier: low}}, targetQoSLevel: 2}
"
    .to_owned();
    for pod in 0..60 {
        write!(
            policies,
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{pod:02}, labels: {{app: a-{pod}, tier: low}}}}\n"
        )
        .unwrap();
    }
    let mut page = page_of("among_many", &policies);
    assert_eq!(text(&mut page, "count"), "60 rows");
    assert_eq!(hours(&mut page, "pod-00", "overlap"), ["6 to 8", "30 to 32"]);
    let notes = text(&mut page, "notes");
    assert!(notes.contains("Not looked for (1)"), "{notes}");
    assert!(notes.contains("almanac lint reports, among 60 values"), "{notes}");
    assert_quiet(&page);
}

#[test]
fn a_band_is_open_on_the_side_of_a_bound_that_is_unknown() {
    let policies = "\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: bounds}
spec:
  scaleTargetRef: {apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: api}
  rules:
  - {name: up, schedule: '0 8 * * *', targetMinReplicas: 10}
  - {name: down, schedule: '0 20 * * *', targetMinReplicas: 4}
";
    let mut page = page_of("open_band", policies);
    let row = row("api");
    let value_of = |page: &mut Page, what: &str| page.evaluate(&format!("{row}.{what}"));
    let labels = "querySelectorAll('.value').length";
    assert!(value_of(&mut page, labels).as_u64().unwrap() >= 4);
    assert_eq!(value_of(&mut page, "querySelector('.value').textContent"), "4–?");
    assert_eq!(value_of(&mut page, "querySelectorAll('.unknown').length"), 1);
    assert_eq!(value_of(&mut page, "querySelector('.at').textContent"), "4 / ?");
    assert_quiet(&page);
}

#[test]
fn a_long_press_shows_the_reason_and_follows_the_finger() {
    let mut page = page_of("long_press", include_str!("../../offline/forecast/contested.yaml"));
    let place = place_in(&mut page, "web", 10.0 / 48.0);
    page.hold(place);
    let is_open = "new Promise((done) => { const look = () => document.getElementById('why').hidden \
                   ? requestAnimationFrame(look) : done(true); look(); })";
    assert_eq!(page.evaluate(is_open), true);
    let reason = text(&mut page, "why-body");
    assert!(reason.contains("30 replicas"), "{reason}");
    let before = text(&mut page, "span");
    let further = place_in(&mut page, "web", 14.0 / 48.0);
    page.slide(&[(place.0 + 8.0, place.1), further]);
    let reason = text(&mut page, "why-body");
    assert!(reason.contains("10 replicas"), "{reason}");
    assert_eq!(text(&mut page, "span"), before, "the view does not move");
    assert_quiet(&page);
}
