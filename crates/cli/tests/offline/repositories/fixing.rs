//! `lint --fix` writes fixes with one possible meaning, and nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use crate::repositories::repository::{PRESENT, Repository, policy};

const SLIPS: &str = "\
# The night shift.
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: night}   # not the day
spec:
  scaleTargetRef:
    apiVersion: app/v1
    kind: 'deployment'
    name: shop
  rules:
  - ruleName: \"down\" # by night
    Schedule: '0 20 * * *'
    targetReplicas: 1
";

const FIXED: &str = "\
# The night shift.
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: night}   # not the day
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: 'Deployment'
    name: shop
  rules:
  - name: \"down\" # by night
    schedule: '0 20 * * *'
    targetReplicas: 1
";

fn read(repository: &Repository, path: &str) -> String {
    fs::read_to_string(repository.root().join(path)).unwrap()
}

#[test]
fn fixes_with_one_meaning_are_written_and_all_other_text_is_unchanged() {
    let good = policy("good", "good", 3);
    let wrong = good.replace("good", "wrong").replace("0 8 * * *", "0 8 * *");
    let repository = Repository::new("fixing")
        .file("night.yaml", SLIPS)
        .file("windows.yaml", SLIPS.replace("night", "day").replace('\n', "\r\n"))
        .file("good.yaml", &good)
        .file("wrong.yaml", &wrong);
    let ran = repository.run(&["lint", "--fix", "--from", PRESENT]);
    let output = [
        "fixed[mistyped-field]: night.yaml:11:5: ruleName is name now",
        "fixed[mistyped-version]: night.yaml:7:17: app/v1 is apps/v1 now",
        // This finding appears once the version is correct.
        "fixed[target]: night.yaml:8:11: 'deployment' is Deployment now",
        "error[schedule]",
    ];
    ran.assert_output(1, &output);
    assert_eq!(read(&repository, "night.yaml"), FIXED);
    let windows = FIXED.replace("night", "day").replace('\n', "\r\n");
    assert_eq!(read(&repository, "windows.yaml"), windows);
    assert_eq!(read(&repository, "good.yaml"), good);
    assert_eq!(read(&repository, "wrong.yaml"), wrong);
    let again = repository.run(&["lint", "--fix", "--from", PRESENT]);
    assert!(!again.stderr.contains("fixed"), "{}", again.stderr);
    // No unfinished file remains.
    assert_eq!(fs::read_dir(repository.root()).unwrap().count(), 5);
}

#[test]
fn json_lists_the_applied_fixes() {
    let repository = Repository::new("fixing-json").file("night.yaml", SLIPS);
    let output = repository.run_json("lint", &["--fix"]);
    let fixed = output["fixed"].as_array().unwrap();
    assert_eq!(fixed.len(), 4, "{output}");
    let first = json!({
        "code": "mistyped-version", "file": "night.yaml", "line": 7, "column": 17,
        "before": "app/v1", "after": "apps/v1",
    });
    assert_eq!(fixed[0], first);
    assert_eq!(
        repository.run_json("lint", &["--fix"])["fixed"],
        json!(null),
        "there is nothing left"
    );
}

#[test]
fn times_in_the_text_of_a_config_map_are_fixed_in_place() {
    let config = |quote: &str, time: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-config, namespace: volcano-system}}\n\
             data:\n  config.yaml: |\n    globalConfig:\n      timeBasedQoSPolicies:\n      - name: night # quiet\n        \
             startTime: {quote}{time}{quote}\n        endTime: \"20:00\"\n        selector: {{matchLabels: {{app: batch}}}}\n        \
             targetQoSLevel: -1\n"
        )
    };
    for quote in ["\"", "'", ""] {
        let name = format!("fixing-times-{}", quote.len() + usize::from(quote == "'"));
        let repository = Repository::new(&name).file("agent.yaml", config(quote, "8:00"));
        repository.run(&["lint", "--fix"]).assert_output(0, &["fixed[time-of-day]"]);
        let quote = if quote.is_empty() { "\"" } else { quote };
        assert_eq!(read(&repository, "agent.yaml"), config(quote, "08:00"));
    }
}

#[test]
fn ambiguous_and_far_reaching_fixes_are_not_written() {
    let shared = SLIPS
        .replace("metadata: {name: night}", "metadata: {name: night, labels: {a: &v app/v1}}")
        .replace("apiVersion: app/v1", "apiVersion: *v");
    let both = SLIPS.replace("ruleName: \"down\"", "name: up\n    ruleName: \"down\"");
    for (name, text) in [("alias", shared), ("both", both)] {
        let repository = Repository::new(&format!("fixing-{name}")).file("a.yaml", &text);
        let ran = repository.run(&["lint", "--fix", "--from", PRESENT]);
        assert_eq!(ran.code, Some(1), "{name}: {}", ran.stdout);
        let after = read(&repository, "a.yaml");
        assert_eq!(after.contains("ruleName"), name == "both", "{after}");
        assert_eq!(after.contains("app/v1"), name == "alias", "{after}");
    }
}

#[test]
fn links_and_permissions_stay_and_read_only_files_are_not_written() {
    let repository = Repository::new("fixing-files").file("real/a.yaml", SLIPS);
    let real = repository.root().join("real/a.yaml");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/a.yaml", repository.root().join("link.yaml")).unwrap();
    repository.run(&["lint", "--fix", "link.yaml"]).assert_output(0, &["link.yaml:7:17"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), FIXED);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(repository.root().join("link.yaml")).unwrap().is_symlink());
    let linked = Repository::new("fixing-hard-links").file("a.yaml", SLIPS);
    fs::hard_link(linked.root().join("a.yaml"), linked.root().join("b.txt")).unwrap();
    linked
        .run(&["lint", "--fix"])
        .assert_output(1, &["a.yaml was not fixed: the file has other hard links"]);
    assert_eq!(read(&linked, "a.yaml"), SLIPS);
    let arguments = ["lint", "--fix", "-f", "-"];
    repository.run(&arguments).assert_output(2, &["standard input cannot be written to"]);
    let mut of_windows = vec![0xff, 0xfe];
    of_windows.extend(SLIPS.encode_utf16().flat_map(u16::to_le_bytes));
    let repository = Repository::new("fixing-utf16").file("a.yaml", &of_windows);
    repository
        .run(&["lint", "--fix"])
        .assert_output(1, &["a.yaml was not fixed", "error[encoding]"]);
    assert_eq!(fs::read(repository.root().join("a.yaml")).unwrap(), of_windows);
}

#[test]
fn unselected_objects_are_not_written() {
    let text = SLIPS.replace("{name: night}", "{name: night, labels: {team: blue}}");
    let repository = Repository::new("fixing-not-labelled").file("a.yaml", &text);
    repository.run(&["lint", "--fix", "-l", "team=red"]);
    assert_eq!(read(&repository, "a.yaml"), text);
}
