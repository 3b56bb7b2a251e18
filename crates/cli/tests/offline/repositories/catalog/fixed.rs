//! The mistakes of the list that `lint --fix` fixes.

use serde_json::Value;

use super::{cases, repository_of};

/// A fix is one word or one expression; otherwise the user must choose.
#[test]
fn fix_writes_all_fixes_with_one_meaning() {
    let cases = cases();
    let all = cases.iter().enumerate().map(|(number, case)| case.file(number));
    let repository = repository_of("catalogue-fix", all);
    let arguments = ["--fix", "-f", "*.yaml", "-f", "*.json"];
    let output = repository.run_json("lint", &arguments);
    let fixed = output["fixed"].as_array().unwrap();
    assert!(fixed.len() > 20, "{fixed:#?}");
    assert_eq!(repository.run_json("lint", &arguments)["fixed"], Value::Null);
    let findings = output["findings"].as_array().unwrap();
    // Comments and files in another encoding stay unchanged.
    let encoded = findings.iter().filter(|it| it["code"] == "encoding").map(|it| &it["file"]);
    let encoded: Vec<&Value> = encoded.collect();
    let is_apart = |it: &Value| it["code"] == "nothing-ignored" || encoded.contains(&&it["file"]);
    for finding in findings.iter().filter(|it| !is_apart(it)) {
        let meant = finding["fix"].as_str().and_then(|fix| fix.strip_prefix("write "));
        let is_one = |it: &str| match it.strip_prefix('"').and_then(|it| it.strip_suffix('"')) {
            Some(quoted) => !quoted.contains('"'),
            None => !it.contains(' '),
        };
        assert!(!meant.is_some_and(is_one), "{finding:#}");
    }
}
