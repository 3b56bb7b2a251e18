//! The common behavior of `lint` and `validate`, and the differences.

use crate::repositories::repository::{PRESENT, Repository, findings, policy};

#[test]
fn lint_finds_all_that_validate_finds() {
    let wrong = policy("wrong", "wrong", 3).replace("0 8 * * *", "0 8 * *");
    let meets = policy("meets", "meets", 3).replace("0 20 * * *", "0 8 * * *");
    let repository = Repository::new("lint-validates")
        .file("wrong.yaml", wrong)
        .file("meets.yaml", meets)
        .file("good.yaml", policy("good", "good", 3));
    let (validated, linted) =
        (repository.run_json("validate", &[]), repository.run_json("lint", &[]));
    assert_eq!(linted["schema"], "almanac/lint/v1");
    let (validated, linted) = (findings(&validated), findings(&linted));
    assert_eq!(validated.len(), 2, "{validated:?}");
    assert!(validated.iter().all(|it| linted.contains(it)), "{validated:?} {linted:?}");
}

#[test]
fn a_policy_in_an_exempt_namespace_is_reported_unless_it_is_exempt_itself() {
    let of = |namespace: &str, name: &str| {
        let named = format!("  name: {name}\n");
        policy(name, name, 3).replace(&named, &format!("{named}  namespace: {namespace}\n"))
    };
    let mark = "annotations: {almanac.dev/ignore: \"true\"}";
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: shops, {mark}}}\n");
    let repository = Repository::new("lint-exempt")
        .file("cart.yaml", of("carts", "cart"))
        .file("dns.yaml", of("kube-system", "dns"))
        .file("namespace.yaml", namespace)
        .file("own.yaml", of("carts", "own").replace("spec:\n", &format!("  {mark}\nspec:\n")))
        .file("shop.yaml", of("shops", "shop"));
    let output = repository.run_json("lint", &[]);
    let expected = ["exempt-namespace dns.yaml:5:14", "exempt-namespace shop.yaml:5:14"];
    assert_eq!(findings(&output), expected);
    assert_eq!(findings(&repository.run_json("validate", &[])), [""; 0]);
    let message = output["findings"][0]["message"].as_str().unwrap();
    assert_eq!(message, "does nothing: the namespace kube-system is exempt from all policies");
}

#[test]
fn a_warning_makes_lint_fail_by_default() {
    let meets = policy("meets", "meets", 3).replace("0 20 * * *", "0 8 * * *");
    let repository = Repository::new("lint-fails").file("meets.yaml", meets);
    let lint = |arguments: &[&str]| {
        repository.run(&[&["lint", "meets.yaml", "--from", PRESENT], arguments].concat())
    };
    lint(&[]).assert_output(1, &["warning[same-minute]"]);
    lint(&["--fail-on", "error"]).assert_output(0, &["warning[same-minute]"]);
    lint(&["--fail-on", "never"]).assert_output(0, &["warning[same-minute]"]);
    lint(&["-l", "team=blue"]).assert_output(0, &["nothing to check"]);
    lint(&["nowhere.yaml"]).assert_output(2, &["nowhere.yaml"]);
}

/// A Deployment whose pods request nothing.
fn with_pods(name: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  \
         template: {{spec: {{containers: [{{name: a}}]}}}}\n"
    )
}

fn quota(pods: u32) -> String {
    format!(
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: compute}}\nspec: {{hard: {{pods: {pods}}}}}\n"
    )
}

#[test]
fn workloads_without_a_policy_count_against_a_quota_wherever_they_are() {
    let repository = Repository::new("lint-adds-up")
        .file("policies/shop.yaml", policy("shop", "shop", 3))
        .file("apps/shop.yaml", with_pods("shop", 1))
        .file("apps/other.yaml", with_pods("other", 3))
        .file("quotas/all.yaml", quota(5));
    let output = repository.run_json("lint", &[]);
    assert_eq!(findings(&output), ["above-quota policies/shop.yaml:8:28"]);
    let message = output["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("6 pods in namespace default, 1 more than"), "{message}");
    assert!(message.ends_with("pods is 5 (quotas/all.yaml:4)"), "{message}");
    assert_eq!(output["findings"][0]["at"], serde_json::json!([PRESENT]));
    assert_eq!(findings(&repository.run_json("validate", &[])), [""; 0]);
    repository
        .run(&["lint"])
        .assert_output(1, &["checked 3 objects in 3 files: 1 warning in 1 file"]);
    repository
        .run(&["lint", "--ignore", "above-quota"])
        .assert_output(0, &["no problems found, 1 ignored"]);
}

#[test]
fn a_quota_bounds_the_workloads_of_its_own_cluster() {
    let clusters = ["prod", "staging"].map(|cluster| {
        let folder = format!("clusters/{cluster}");
        [(format!("{folder}/shop.yaml"), with_pods("shop", 1))]
            .into_iter()
            .chain([(format!("{folder}/hours.yaml"), policy("shop", "shop", 3))])
    });
    let repository = Repository::new("lint-quota-of-cluster")
        .file("clusters/prod/quota.yaml", quota(3))
        .file("clusters/staging/quota.yaml", quota(2));
    let add = |repository: Repository, (path, text): (String, String)| repository.file(&path, text);
    let repository = clusters.into_iter().flatten().fold(repository, add);
    let output = repository.run_json("lint", &[]);
    assert_eq!(findings(&output), ["above-quota clusters/staging/hours.yaml:8:28"]);
    assert_eq!(output["findings"][0]["place"], "clusters/staging");
}
