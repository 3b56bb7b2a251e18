//! Texts that were copied, saved or exported by something that has other ideas of text: what is wrong is
//! named where it stands, with what to do.

use crate::repository::{Repository, findings, policy};

/// The only finding about a file with these bytes: `code file:line:column`, its message and its fix.
#[track_caller]
fn only_finding(name: &str, bytes: impl AsRef<[u8]>) -> (String, String, String) {
    let repository = Repository::new(name).file("a.yaml", bytes);
    let told = repository.ask("validate", &[]);
    let found = findings(&told);
    assert_eq!(found.len(), 1, "{told:#}");
    let text = |key: &str| told["findings"][0][key].as_str().unwrap_or_default().to_owned();
    (found[0].clone(), text("message"), text("fix"))
}

#[test]
fn a_wrong_encoding_is_reported_and_the_policy_is_still_read() {
    let text = format!("# caf\u{e9}\n{}", policy("hours", "shop", 3));
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (found, message, fix) = only_finding("utf-16", &wide);
    assert_eq!(found, "encoding a.yaml:1:1");
    assert!(message.contains("UTF-16LE") && fix.contains("iconv -f UTF-16LE"), "{message} {fix}");
    let old: Vec<u8> = text.chars().map(|it| u8::try_from(u32::from(it)).unwrap()).collect();
    let (found, message, _) = only_finding("windows-1252", &old);
    assert_eq!(found, "encoding a.yaml:1:6");
    assert!(message.contains("Windows-1252"), "{message}");
    let repository = Repository::new("utf-16-forecast").file("a.yaml", &wide);
    let told = repository.ask("forecast", &["-f", ".", "--for", "1h"]);
    assert_eq!(told["series"][0]["segments"][0]["value"], 3);
}

#[test]
fn lines_with_classic_mac_endings_are_numbered() {
    let text = policy("hours", "shop", 3).replace("0 8 * * *", "0 8 * *").replace('\n', "\r");
    let repository = Repository::new("old-mac").file("a.yaml", text);
    let told = repository.ask("validate", &[]);
    assert_eq!(findings(&told), ["line-ends a.yaml:1:44", "schedule a.yaml:8:28"]);
}

#[test]
fn a_byte_order_mark_and_windows_line_endings_are_fine() {
    let text = format!("\u{feff}{}", policy("hours", "shop", 3)).replace('\n', "\r\n");
    let repository = Repository::new("windows").file("a.yaml", text);
    repository
        .run(&["validate"])
        .assert_says(0, &["checked 1 object in 1 file: no problems found"]);
}

#[test]
fn lookalike_letters_are_reported() {
    for (what, wrong, right, said) in [
        ("quotes", "schedule: \u{201c}0 8 * * *\u{201d}", "write \" instead of \u{201c}", "U+201C"),
        (
            "nothing",
            "schedule: \"0 8 * *\u{200b} *\"",
            "delete the invisible character U+200B",
            "a zero-width space",
        ),
        (
            "dash",
            "schedule: \"0 8 * * 1\u{2013}5\"",
            "write - instead of \u{2013}",
            "a dash (U+2013)",
        ),
        ("asterisk", "schedule: \"0 8 * * \u{2217}\"", "write * instead of \u{2217}", "U+2217"),
    ] {
        let text = policy("hours", "shop", 3).replace("schedule: \"0 8 * * *\"", wrong);
        let (found, message, fix) = only_finding(&format!("letters-{what}"), text);
        assert!(found.starts_with("schedule a.yaml:8:"), "{found}");
        assert!(message.contains(said) && fix.starts_with(right), "{message}; {fix}");
    }
    let text = policy("hours", "shop", 3).replace("  - {name: close", "  \u{2013} {name: close");
    let (found, message, fix) = only_finding("letters-list", text);
    assert!(found.starts_with("syntax a.yaml:9:"), "{found}");
    assert!(
        message.contains("a dash (U+2013)") && fix == "write - instead of \u{2013}",
        "{message}; {fix}"
    );
    let text = policy("hours", "shop", 3).replace("  rules:", "\u{a0} rules:");
    let repository = Repository::new("letters-indent").file("a.yaml", text);
    let ran = repository.run(&["validate"]);
    ran.assert_says(1, &["it contains a no-break space (U+00A0)", "fix: write an ordinary space"]);
    let name = policy("hours", "shop\u{200b}", 3);
    let (_, message, _) = only_finding("letters-name", name);
    assert!(message.contains("a zero-width space (U+200B)"), "{message}");
}

#[test]
fn a_prompt_a_directive_and_a_comment_are_reported_with_their_positions() {
    for (what, above, expected) in [
        (
            "prompt",
            "$ kubectl get cronfhpa hours -o yaml\n",
            "this line is a shell command, not YAML",
        ),
        ("directive", "%YAML 1.1\n---\n", "kubectl does not support YAML directives"),
    ] {
        let text = format!("{above}{}", policy("hours", "shop", 3));
        let (found, message, fix) = only_finding(&format!("above-{what}"), &text);
        assert_eq!((found.as_str(), message.as_str()), ("syntax a.yaml:1:1", expected));
        assert!(fix.starts_with("remove this line"), "{fix}");
        let repository = Repository::new(&format!("above-{what}-read")).file("a.yaml", text);
        let told = repository.ask("forecast", &["-f", ".", "--for", "1h"]);
        assert_eq!(told["series"].as_array().map(Vec::len), Some(1), "the rest is read");
    }
    let json = "// the shop\n{\"apiVersion\": \"autoscaling.karmada.io/v1alpha1\", \"kind\": \"CronFederatedHPA\",\n\
                \"metadata\": {\"name\": \"hours\"}, \"spec\": {\"scaleTargetRef\": {\"apiVersion\": \"apps/v1\",\n\
                \"kind\": \"Deployment\", \"name\": \"shop\"}, \"rules\": [{\"name\": \"open\",\n\
                \"schedule\": \"0 8 * * *\", \"targetReplicas\": 3}]}}\n";
    let (found, _, fix) = only_finding("above-json", json);
    assert_eq!(found, "slash-comment a.yaml:1:1");
    assert!(fix.starts_with("remove it"), "{fix}");
}
