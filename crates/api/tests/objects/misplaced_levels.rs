//! Policies for QoS levels at a level of the document at which the agent does not read them.

use crate::written::{check, messages};

const POLICY: &str = "startTime: '22:00', endTime: '08:00', selector: {matchLabels: {app: batch}}, targetQoSLevel: -1";

/// The agent's `ConfigMap` with this document.
fn config(document: &str) -> String {
    let lines: Vec<String> = document.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-configuration}}\ndata:\n  \
         colocation-config: |\n{}",
        lines.concat()
    )
}

#[test]
fn a_list_of_policies_at_another_level_is_reported() {
    let list = format!("timeBasedQoSPolicies: [{{{POLICY}}}]");
    for (document, field) in [
        (
            format!("globalConfig:\n  cpuBurstConfig: {{enable: true}}\n{list}"),
            "timeBasedQoSPolicies",
        ),
        (
            format!("globalConfig: {{cpuBurstConfig: {{{list}}}}}"),
            "globalConfig.cpuBurstConfig.timeBasedQoSPolicies",
        ),
        (
            format!("nodesConfig: [{{selector: {{{list}}}}}]"),
            "nodesConfig[0].selector.timeBasedQoSPolicies",
        ),
        (format!("other: [{{{list}}}]"), "other[0].timeBasedQoSPolicies"),
    ] {
        let expected = format!(
            "ignored-field {field}: Ignored: no policies are read from a timeBasedQoSPolicies here"
        );
        let text = config(&document);
        assert_eq!(messages(&text), [expected], "{document}");
        let (reading, _, found) = check(&text);
        let span = found[0].span.expect("a location in the text");
        assert_eq!(reading.sources[0].slice(span), "timeBasedQoSPolicies", "{document}");
        let fix = found[0].finding.fix.as_deref();
        assert_eq!(fix, Some("move it under globalConfig, or under an entry of nodesConfig"));
    }
}

#[test]
fn a_policy_outside_of_a_list_is_reported() {
    for (document, field) in [
        (format!("globalConfig: {{timeBasedQoSPolicies: , {POLICY}}}"), "globalConfig.startTime"),
        (format!("nodesConfig: [{{{POLICY}}}]"), "nodesConfig[0].startTime"),
        (format!("{{{POLICY}}}"), "startTime"),
    ] {
        let expected = format!(
            "ignored-field {field}: Ignored: a policy must be an item of timeBasedQoSPolicies"
        );
        assert_eq!(messages(&config(&document)), [expected], "{document}");
    }
}

#[test]
fn policies_outside_of_the_text_of_the_document_are_reported() {
    let text = config("globalConfig: {}") + "  timeBasedQoSPolicies: |\n    - {}\n";
    let expected =
        "ignored-field data.timeBasedQoSPolicies: Ignored: the agent reads only colocation-config";
    assert_eq!(messages(&text), [expected]);
}

#[test]
fn policies_at_the_right_level_and_foreign_content_get_no_finding() {
    let list = format!("timeBasedQoSPolicies: [{{{POLICY}}}]");
    for document in [
        format!("globalConfig: {{{list}}}\nnodesConfig: [{{selector: {{}}, {list}}}]"),
        "timeBasedQoSPolicies:\nother: {startTime: noon, endTime: midnight}".to_owned(),
    ] {
        assert_eq!(messages(&config(&document)), [""; 0], "{document}");
    }
}
