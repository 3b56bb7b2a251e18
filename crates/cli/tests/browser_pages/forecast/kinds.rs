//! Values that are not numbers, names that contain markup, and events at instants.

use std::fs;
use std::path::Path;

use crate::chromium::Page;
use crate::forecast::{assert_quiet, folder_of, forecast, open, row, text};

/// A page with a different forecast, for the same day in UTC.
fn page_of(name: &str, columns: &str) -> Page {
    let arguments = ["-o", "html", "--zone", "UTC", "--from", "2026-03-02", "--for", "1d"];
    let page = forecast(Path::new("examples"), &arguments);
    let (before, rest) = page.split_once("id=\"forecast\">").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    let columns = columns.replace('<', "\\u003c");
    let folder = folder_of(name);
    let mut page = open(&folder, &format!("{before}id=\"forecast\">{columns}</script>{after}"));
    page.screenshot(&folder.join("light.png"));
    page
}

fn written_in(page: &mut Page, name: &str) -> Vec<String> {
    let row = row(name);
    let texts = page.evaluate(&format!(
        "[...{row}.querySelectorAll('.drawing text')].map((it) => it.textContent)"
    ));
    serde_json::from_value(texts).unwrap()
}

#[test]
fn values_of_every_kind_are_drawn() {
    let mut page =
        page_of("kinds", include_str!("../../offline/forecast/expected/kinds.columns.json"));
    let texts_of = |page: &mut Page, kind: &str| {
        let drawing = format!(
            "[...document.querySelectorAll('.drawing')].find((it) => it.getAttribute('aria-label').includes({kind:?}))"
        );
        let texts = page.evaluate(&format!(
            "[...{drawing}.querySelectorAll('text')].map((it) => it.textContent)"
        ));
        serde_json::from_value::<Vec<String>>(texts).unwrap()
    };
    assert_eq!(texts_of(&mut page, "Deployment default/shop"), ["?", "10", "3"]);
    assert_eq!(
        texts_of(&mut page, "Pod default/web"),
        ["best-effort", "burstable", "guaranteed", "unknown"]
    );
    let clusters = ["a-cluster-with-a-long-name", "east", "west", "none", "unknown"];
    assert_eq!(texts_of(&mut page, "Placement default/shop"), clusters);
    let units = texts_of(&mut page, "ResourcePolicy default/pools");
    assert!(units.contains(&"on-demand 5, spot 6".to_owned()), "{units:?}");
    // A lane has a box for each period in which it is selected: the east from 03:00 to 18:00 without a break.
    let boxes = "[...document.querySelectorAll('.drawing')].find((it) => it.getAttribute('aria-label').includes('Placement default/shop')).querySelectorAll('path').length";
    assert!(page.evaluate(boxes).as_u64().unwrap() >= 5);
    assert_quiet(&page);
}

#[test]
fn hostile_names_are_escaped_and_stay_on_the_page() {
    let mut page =
        page_of("hostile", include_str!("../../offline/forecast/expected/hostile.columns.json"));
    for width in [320, 1280] {
        page.resize(width, 900);
        for index in 0..3 {
            page.evaluate(&format!("document.querySelectorAll('.row button')[{index}].click()"));
            assert_eq!(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
        }
    }
    assert_eq!(page.evaluate("document.querySelectorAll('main script, aside script').length"), 0);
    assert_eq!(page.evaluate("document.querySelectorAll('.row').length"), 3);
    let reason = text(&mut page, "why-body");
    assert!(reason.contains("a \"b\" & 'c' \\ "), "{reason}");
    assert_quiet(&page);
}

#[test]
fn each_start_of_a_cron_job_has_a_mark() {
    let folder = folder_of("cron_jobs");
    let job = |name: &str, schedule: &str| {
        format!(
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\nspec: {{schedule: '{schedule}', timeZone: UTC, \
             jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: b}}]}}}}}}}}}}\n---\n"
        )
    };
    let files = folder.join("jobs.yaml");
    fs::write(&files, job("backup", "30 2,14 * * *") + &job("often", "* * * * *")).unwrap();
    let arguments = ["-o", "html", "--zone", "UTC", "--from", "2026-03-02", "--for", "1d"];
    let content = forecast(&files, &arguments);
    let mut page = open(&folder, &content);
    let marks = |page: &mut Page, name: &str| {
        let row = row(name);
        page.evaluate(&format!(
            "{row}.querySelector('.tick').getAttribute('d').split('M').length - 1"
        ))
        .as_u64()
        .unwrap()
    };
    assert_eq!(marks(&mut page, "backup"), 2);
    assert_eq!(written_in(&mut page, "backup"), [""; 0]);
    let backup = row("backup");
    page.evaluate(&format!("{backup}.querySelector('button').click()"));
    assert!(text(&mut page, "why-body").contains("Mon 2026-03-02 02:30 UTC"));
    page.press("Escape");
    // The marks are less than a pixel apart: a band has their number.
    let often = row("often");
    let output = page.evaluate(&format!(
        "[...{often}.querySelectorAll('.ticks title')].map((it) => it.textContent).join('; ')"
    ));
    assert_eq!(output, "1440 times, Mon 2026-03-02 00:00 UTC to Mon 2026-03-02 23:59 UTC");
    assert_eq!(written_in(&mut page, "often"), ["1440"]);
    page.evaluate("document.getElementById('as-table').click()");
    assert_eq!(text(&mut page, "table-page"), "Page 1 of 15, 1442 steps");
    page.evaluate("document.getElementById('table-after').click()");
    let line = "[...document.querySelector('#table-body tr').children].map((it) => it.textContent).join(' | ')";
    let expected = "Mon 2026-03-02 01:38 UTC |  | CronJob default/often |  | starts a Job |  |  | ";
    assert_eq!(page.evaluate(line), expected, "two rows of the other kind come before");
    page.evaluate("document.getElementById('as-table').click()");
    // After zooming in, each event is a line, and a search for the next event starts at the current view.
    page.evaluate("location.hash = 'from=2026-03-02T06:00:00Z&to=2026-03-02T07:00:00Z'");
    page.evaluate("new Promise((done) => setTimeout(done, 50))");
    assert_eq!(marks(&mut page, "often"), 60);
    page.evaluate(&format!("{often}.querySelector('button').click()"));
    assert!(text(&mut page, "why-body").contains("Mon 2026-03-02 06:00 UTC"));
    assert_quiet(&page);
}

#[test]
fn equal_pods_are_one_row_and_each_is_found_by_its_name() {
    let folder = folder_of("levels");
    let pod = |number| {
        let level = if number == 36 { "2" } else { "1" };
        let metadata = format!(
            "{{name: batch-{number:02}, labels: {{app: batch}}, annotations: {{volcano.sh/qos-level: '{level}'}}}}"
        );
        format!("---\napiVersion: v1\nkind: Pod\nmetadata: {metadata}\n")
    };
    let pods: Vec<String> = (0..37).map(pod).collect();
    let files = folder.join("levels.yaml");
    fs::write(&files, format!("{LEVELS}{}", pods.concat())).unwrap();
    let content = forecast(&files, &["-o", "html", "--from", "2026-03-02", "--for", "1d"]);
    let mut page = open(&folder, &content);
    let titles =
        "[...document.querySelectorAll('.row .title')].map((it) => it.textContent).join('; ')";
    assert_eq!(page.evaluate(titles), "36 pods of app=batch in default; batch-36");
    page.evaluate("document.querySelector('.row button').click()");
    page.evaluate("document.querySelector('#why details').open = true");
    let names = text(&mut page, "why-body");
    assert!(names.contains("batch-34, batch-35"), "{names}");
    page.evaluate(
        "(() => { const it = document.getElementById('filter'); it.value = 'batch-07'; \
         it.dispatchEvent(new Event('input')); })()",
    );
    page.press("Escape");
    assert_eq!(page.evaluate(titles), "36 pods of app=batch in default");
    assert_quiet(&page);
}

#[test]
fn kinds_of_one_name_in_two_api_groups_are_two_rows() {
    let folder = folder_of("groups");
    let policy = |name: &str, group: &str, replicas: u32| {
        format!(
            "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {{name: {name}}}\nspec:\n  \
             scaleTargetRef: {{apiVersion: {group}/v1, kind: Deployment, name: shop}}\n  rules:\n  \
             - {{name: up, schedule: '0 8 * * *', targetReplicas: {replicas}}}\n  \
             - {{name: down, schedule: '0 20 * * *', targetReplicas: 2}}\n---\n"
        )
    };
    let files = folder.join("policies.yaml");
    fs::write(&files, policy("one", "apps", 4) + &policy("other", "other.example", 400)).unwrap();
    let content = forecast(&files, &["-o", "html", "--from", "2026-03-02", "--for", "1d"]);
    let mut page = open(&folder, &content);
    let groups = "[...document.querySelectorAll('.group')].map((it) => it.textContent)";
    let expected = ["default · Deployment.apps", "default · Deployment.other.example"];
    assert_eq!(page.evaluate(groups), serde_json::json!(expected));
    let values = "[...document.querySelectorAll('.row')].map((it) => [...it.querySelectorAll('.value')].map((it) => it.textContent).join())";
    assert_eq!(page.evaluate(values), serde_json::json!(["2,4,2", "2,400,2"]));
    assert_quiet(&page);
}

const LEVELS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-config, namespace: volcano-system}
data:
  config.yaml: |
    globalConfig:
      timeBasedQoSPolicies:
      - {name: night, startTime: '22:00', endTime: '08:00', selector: {matchLabels: {app: batch}}, targetQoSLevel: -1}
";
