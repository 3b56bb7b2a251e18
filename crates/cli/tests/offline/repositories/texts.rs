//! Texts that another program copied, saved or exported in another form: each problem is reported with its location
//! and its fix.

use crate::repositories::repository::{Repository, findings, policy};

/// The only finding about a file with these bytes: `code file:line:column`, its message and its fix.
#[track_caller]
fn only_finding(name: &str, bytes: impl AsRef<[u8]>) -> (String, String, String) {
    let repository = Repository::new(name).file("a.yaml", bytes);
    let output = repository.run_json("validate", &[]);
    let found = findings(&output);
    assert_eq!(found.len(), 1, "{output:#}");
    let text = |key: &str| output["findings"][0][key].as_str().unwrap_or_default().to_owned();
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
    let output = repository.run_json("forecast", &["-f", ".", "--for", "1h"]);
    assert_eq!(output["series"][0]["segments"][0]["value"], 3);
}

#[test]
fn lines_with_classic_mac_endings_are_numbered() {
    let text = policy("hours", "shop", 3).replace("0 8 * * *", "0 8 * *").replace('\n', "\r");
    let repository = Repository::new("old-mac").file("a.yaml", text);
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), ["line-ends a.yaml:1:44", "schedule a.yaml:8:28"]);
}

#[test]
fn a_byte_order_mark_and_windows_line_endings_are_fine() {
    let text = format!("\u{feff}{}", policy("hours", "shop", 3)).replace('\n', "\r\n");
    let repository = Repository::new("windows").file("a.yaml", text);
    repository
        .run(&["validate"])
        .assert_output(0, &["checked 1 object in 1 file: no problems found"]);
}

#[test]
fn lookalike_letters_are_reported() {
    for (what, wrong, right, expected_text) in [
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
        assert!(message.contains(expected_text) && fix.starts_with(right), "{message}; {fix}");
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
    ran.assert_output(
        1,
        &["the text contains a no-break space (U+00A0)", "fix: write an ordinary space"],
    );
    let name = policy("hours", "shop\u{200b}", 3);
    let (_, message, _) = only_finding("letters-name", name);
    assert!(message.contains("a zero-width space (U+200B)"), "{message}");
    for (what, name, expected_text) in [
        ("quoted-rule", "\u{201c}open\u{201d}", "delete the quotation marks such as \u{201c}"),
        ("invisible-rule", "op\u{200b}en", "delete the invisible character U+200B"),
    ] {
        let rule = policy("hours", "shop", 3).replace("name: open", &format!("name: {name}"));
        let (found, _, fix) = only_finding(&format!("letters-{what}"), rule);
        assert_eq!((&*found, &*fix), ("look-alike a.yaml:8:12", expected_text));
    }
    let dash =
        policy("hours", "shop", 3).replace("name: open", "name: early \u{2013} 8 o\u{2019}clock");
    let output =
        Repository::new("letters-dash-rule").file("a.yaml", dash).run_json("validate", &[]);
    assert_eq!(findings(&output), [""; 0], "a name may have typographic signs");
}

#[test]
fn a_prompt_a_directive_and_a_comment_are_reported_with_their_positions() {
    let command = "this line is a shell command, not YAML";
    for (what, above, expected) in [
        ("prompt", "$ kubectl get cronfhpa hours -o yaml\n", command),
        ("no-prompt", "kubectl get cronfhpa hours -o yaml\n", command),
        ("zsh", "~ % kubectl get cronfhpa hours -o yaml\n", command),
        ("bash", "user@host:~$ kubectl get cronfhpa hours -o yaml\n", command),
        ("bash-in-brackets", "[user@host ~]$ sudo kubectl get cronfhpa hours -o yaml\n", command),
        ("root", "root@host:/etc# cat hours.yaml\n", command),
        ("sign", "❯ kubectl get cronfhpa hours -o yaml\n", command),
        ("windows", "PS C:\\> kubectl get cronfhpa hours -o yaml\n", command),
        ("directive", "%YAML 1.1\n---\n", "kubectl does not support YAML directives"),
    ] {
        let text = format!("{above}{}", policy("hours", "shop", 3));
        let (found, message, fix) = only_finding(&format!("above-{what}"), &text);
        assert_eq!((found.as_str(), message.as_str()), ("syntax a.yaml:1:1", expected));
        assert!(fix.starts_with("remove this line"), "{fix}");
        let repository = Repository::new(&format!("above-{what}-read")).file("a.yaml", text);
        let output = repository.run_json("forecast", &["-f", ".", "--for", "1h"]);
        assert_eq!(output["series"].as_array().map(Vec::len), Some(1), "the rest is read");
    }
    let alone = format!("kubectl get cronfhpa -o yaml\n---\n{}", policy("hours", "shop", 3));
    let repository = Repository::new("above-alone").file("a.yaml", alone);
    let output = repository.run_json("validate", &["a.yaml"]);
    assert_eq!(findings(&output), ["syntax a.yaml:1:1"]);
    assert_eq!(output["findings"][0]["message"], command);
    assert_eq!(
        repository.run_json("validate", &["."]),
        output,
        "the output for a directory differs"
    );
    let json = "// the shop\n{\"apiVersion\": \"autoscaling.karmada.io/v1alpha1\", \"kind\": \"CronFederatedHPA\",\n\
                \"metadata\": {\"name\": \"hours\"}, \"spec\": {\"scaleTargetRef\": {\"apiVersion\": \"apps/v1\",\n\
                \"kind\": \"Deployment\", \"name\": \"shop\"}, \"rules\": [{\"name\": \"open\",\n\
                \"schedule\": \"0 8 * * *\", \"targetReplicas\": 3}]}}\n";
    let (found, _, fix) = only_finding("above-json", json);
    assert_eq!(found, "slash-comment a.yaml:1:1");
    assert!(fix.starts_with("remove it"), "{fix}");
    let block = json.replace("// the shop\n", "/* the\n shop */");
    let (found, message, _) = only_finding("above-json-block", block);
    let expected = ("slash-comment a.yaml:1:1", "JSON does not allow comments");
    assert_eq!((found.as_str(), &*message), expected);
    let inside = json.replace("// the shop\n", "").replace("\"rules\":", "/* two */ \"rules\":");
    let (found, ..) = only_finding("inside-json-block", inside);
    assert_eq!(found, "slash-comment a.yaml:3:40");
}

#[test]
fn other_mistakes_are_reported_together_with_a_wrong_version() {
    let text = policy("hours", "shop", 3)
        .replace("autoscaling.karmada.io/v1alpha1", "karmada.io/v1")
        .replace("0 8 * * *", "0 8 * *");
    let repository = Repository::new("version-and-more").file("a.yaml", text);
    let output = repository.run_json("validate", &["a.yaml"]);
    assert_eq!(findings(&output), ["unknown-kind a.yaml:1:13", "schedule a.yaml:8:28"]);
    let output = repository.run_json("forecast", &["-f", "a.yaml", "--for", "1h"]);
    assert_eq!(output["series"], serde_json::json!([]), "the API server rejects it");
}

#[test]
fn a_json_list_of_policies_is_one_finding() {
    let object =
        "{\"apiVersion\": \"autoscaling.karmada.io/v1alpha1\", \"kind\": \"CronFederatedHPA\"}";
    let repository = Repository::new("json-list").file("a.json", format!("[{object}, {object}]"));
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), ["not-an-object a.json:1:1"]);
    let expected = "make it the items of a List, or write '---' between the objects";
    assert_eq!(output["findings"][0]["fix"], expected);
    let others = Repository::new("json-list-of-others").file("a.json", "[{\"kind\": \"x\"}]");
    assert_eq!(findings(&others.run_json("validate", &[])), [""; 0]);
}

#[test]
fn an_invisible_letter_in_a_key_is_the_only_finding() {
    for (name, key, strange, expected) in [
        ("kind", "kind: Cron", "\u{200b}kind: Cron", "unknown-field a.yaml:2:1"),
        ("version", "apiVersion:", "\u{200b}apiVersion:", "unknown-field a.yaml:1:1"),
        ("rules", "  rules:", "\u{a0} rules:", "unknown-field a.yaml:7:1"),
        ("spec", "spec:", "sp\u{ad}ec:", "unknown-field a.yaml:5:1"),
    ] {
        let text = policy("hours", "shop", 3).replace(key, strange);
        let (found, message, _) = only_finding(&format!("strange-key-{name}"), text);
        assert_eq!(found, expected, "{message}");
        assert!(message.contains("; the text contains a"), "{message}");
    }
}

#[test]
fn no_fix_is_guessed_for_letters_in_another_encoding() {
    let name = policy("NAME", "shop", 3).into_bytes();
    let at = name.windows(4).position(|it| it == b"NAME").unwrap();
    let name = [&name[..at], b"caf\xe9", &name[at + 4..]].concat();
    let output = Repository::new("letters-1252").file("a.yaml", name).run_json("validate", &[]);
    assert_eq!(findings(&output), ["invalid-name a.yaml:4:9", "encoding a.yaml:4:12"]);
    let fix = output["findings"][0]["fix"].as_str().unwrap();
    assert_eq!(fix, "use only the letters a to z, digits and '-' inside it");
    let quotes = policy("hours", "shop", 3).replace("0 8 * * *", "0 8 * * \u{201c}1\u{201d}");
    let (_, _, fix) = only_finding("quotes-in-quotes", quotes);
    assert_eq!(fix, "delete the quotation marks such as \u{201c}");
}

#[test]
fn when_reports_lookalike_letters() {
    let repository = Repository::new("when-letters");
    for (arguments, expected_text) in [
        (
            ["--cron", "0 9\u{2013}17 * * *"],
            "the text contains a dash (U+2013): write - instead of \u{2013}",
        ),
        (
            ["--cron", "\u{201c}0 9 * * *\u{201d}"],
            "the text contains a typographic quotation mark (U+201C): delete the quotation marks such as",
        ),
        (
            ["--cron", "0 9 *\u{200b} * *"],
            "the text contains a zero-width space (U+200B): delete the invisible character U+200B",
        ),
        (["--daily", "09:00\u{2014}17:00"], "the text contains a dash (U+2014)"),
        (["--zone", "Europe/\u{200b}Berlin"], "the text contains a zero-width space (U+200B)"),
        (["--zone", "Europe/Berlin\u{a0}"], "the text contains a no-break space (U+00A0)"),
    ] {
        let usual: &[&str] =
            if arguments[0] == "--zone" { &["when", "--cron", "@daily"] } else { &["when"] };
        repository.run(&[usual, &arguments].concat()).assert_output(2, &[expected_text]);
    }
}
