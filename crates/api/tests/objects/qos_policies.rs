//! The `ConfigMaps` of Volcano's agent: the findings about their policies, with the fields of the document and the
//! lines of the file.

use crate::written;
use crate::written::{check_one, findings, levels_config as config, messages, only_message};
use almanac_engine::Slim;
use almanac_engine::qos_levels::{NodeLists, PolicyList, QosLevels};
use jiff::SignedDuration;

const DESIGN: &str = r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: volcano-agent-config
  namespace: volcano-system
data:
  config.yaml: |
    globalConfig:
      timeBasedQoSPolicies:
        - name: "online-qos-at-night"
          enable: true
          startTime: "22:00"
          endTime: "08:00"
          timeZone: "Asia/Shanghai"
          selector:
            matchLabels:
              workload-type: "online"
          targetQoSLevel: -1
          checkInterval: "30s"
        - name: "offline-qos-during-day"
          enable: true
          startTime: "08:00"
          endTime: "22:00"
          timeZone: "Asia/Shanghai"
          selector:
            matchLabels:
              workload-type: "offline"
          targetQoSLevel: -1
          checkInterval: "30s"
"#;

/// A `ConfigMap` with one policy for all nodes, with these fields in addition to the usual fields.
fn policy(fields: &str) -> String {
    let usual = [
        ("startTime", "'22:00'"),
        ("endTime", "'08:00'"),
        ("selector", "{matchLabels: {app: batch}}"),
        ("targetQoSLevel", "-1"),
    ];
    let given = |name: &str| fields.contains(&format!("{name}:"));
    let usual = usual.iter().filter(|(name, _)| !given(name));
    let usual: Vec<String> = usual.map(|(name, value)| format!(", {name}: {value}")).collect();
    config(&format!("globalConfig: {{timeBasedQoSPolicies: [{{{fields}{}}}]}}", usual.concat()))
}

#[test]
fn the_published_example_is_accepted_in_every_form_it_can_have() {
    assert_eq!(findings(DESIGN), [""; 0]);
    let document: Vec<&str> = DESIGN.lines().skip(7).map(|line| &line[4..]).collect();
    let document = document.join("\n");
    let quoted = serde_json::to_string(&document).unwrap();
    let as_json = format!(
        r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "volcano-agent-configuration"}},
            "data": {{"colocation-config": {quoted}}}}}"#
    );
    assert_eq!(findings(&as_json), [""; 0]);
    let in_json = r#"{"globalConfig": {"timeBasedQoSPolicies": [{"startTime": "22:00", "endTime": "24:00",
        "selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "targetQoSLevel": 2,
        "checkInterval": 30000000000}]}}"#;
    assert_eq!(findings(&config(in_json)), [""; 0]);
}

#[test]
fn only_the_two_config_maps_of_the_agent_are_looked_at() {
    let bad = policy("startTime: 25");
    assert_eq!(findings(&bad).len(), 1);
    assert_eq!(findings(&bad.replace("volcano-agent-config", "volcano-agent")), [""; 0]);
    let other_key = bad.replace("volcano-agent-config", "volcano-agent-configuration");
    let message = only_message(&other_key);
    assert_eq!(
        message,
        "mistyped-field data[config.yaml]: Required value: the agent reads its configuration from another key"
    );
}

#[test]
fn content_of_others_is_not_reported() {
    let document = "
globalConfig:
  cpuBurstConfig: {enable: true}
  overSubscriptionConfig: [1, 2]
nodesConfig:
- selector: {matchLabels: {a: b/c}}
  evictingConfig: 5
-
somethingElse: {startTime: noon}
";
    assert_eq!(findings(&config(document)), [""; 0]);
    for nothing in ["", "# nothing yet", "globalConfig:", "globalConfig: {timeBasedQoSPolicies: }"]
    {
        assert_eq!(findings(&config(nothing)), [""; 0], "{nothing}");
    }
    let null = "nodesConfig: [{selector: {}, timeBasedQoSPolicies: null}]";
    assert_eq!(findings(&config(null)), [""; 0]);
}

#[test]
fn a_finding_points_into_the_text_and_names_the_field_of_the_document() {
    let text = DESIGN
        .replacen("\"08:00\"", "\"25:00\"", 1)
        .replace("offline-qos-during-day", "online-qos-at-night")
        .replacen("Asia/Shanghai", "Asia/Shanghi", 1);
    let expected = [
        "13:20 time-of-day globalConfig.timeBasedQoSPolicies[0].endTime: Invalid value: \"25:00\": \
         `25:00` is not a time of day; hours run from 00 to 23, and 24:00 is the end of the day",
        "14:21 time-zone globalConfig.timeBasedQoSPolicies[0].timeZone: Invalid value: \
         \"Asia/Shanghi\": `Asia/Shanghi` is not an IANA time zone; the nearest name is \
         Asia/Shanghai",
        "20:17 duplicate-item globalConfig.timeBasedQoSPolicies[1].name: Duplicate value: \
         \"online-qos-at-night\": policy 0 has this name",
    ];
    assert_eq!(findings(&text), expected);
}

#[test]
fn positions_are_right_however_the_text_is_written() {
    let document = "globalConfig:\n  timeBasedQoSPolicies:\n  - {startTime: '9:00', endTime: '10:00', \
                    selector: {matchLabels: {a: b}}, targetQoSLevel: 0}\n";
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: volcano-agent-config}\ndata:\n";
    let escaped = serde_json::to_string(document).unwrap();
    let flow = document.replace('\n', " ").replace(": timeBased", ": {timeBased");
    let flow = "{globalConfig: {timeBasedQoSPolicies: [".to_owned()
        + flow.split_once("- ").unwrap().1.trim()
        + "]}}";
    let (first, rest) = flow.split_once(", ").unwrap();
    let single = format!("{first},\n\n    {rest}").replace('\'', "''");
    for (written, expected) in [
        (
            format!(
                "  config.yaml: |2-\n{}",
                document.replace("glo", "    glo").replace("\n  ", "\n      ")
            ),
            "8 '9:00'",
        ),
        (format!("  config.yaml: {escaped}\n"), "5 '9:00'"),
        (format!("  config.yaml: '{single}'\n"), "5 ''9:00''"),
        (format!("  config.yaml: >\n    {first},\n    {rest}\n"), "6 '9:00'"),
        (format!("  config.yaml: \"{first},\n    {rest}\"\n"), "5 '9:00'"),
    ] {
        let text = format!("{head}{written}");
        let (reading, _, found) = written::check(&text);
        let at = |placed: &almanac_api::reading::PlacedFinding| {
            let (source, span) = (&reading.sources[placed.source], placed.span.unwrap());
            format!("{} {}", source.position(span.start).line, source.slice(span))
        };
        let places: Vec<String> = found.iter().map(at).collect();
        assert_eq!(places, [expected], "{text}\n{found:#?}");
    }
}

/// The fields of a policy, and the only finding about them.
const MISTAKES: &[(&str, &str)] = &[
    (
        "startTime: '8:00'",
        "time-of-day .startTime: Invalid value: \"8:00\": `8:00` is not a time of day; write 08:00",
    ),
    (
        "startTime: '24:00'",
        "time-of-day .startTime: Invalid value: \"24:00\": 24:00 is the end of a day, so a window cannot start then; write 00:00",
    ),
    (
        "startTime: '10:00', endTime: '10:00'",
        "window .endTime: Invalid value: \"10:00\": the window ends when it starts; for the whole day write 00:00 and 24:00",
    ),
    ("startTime: 480", "wrong-type .startTime: Invalid value: 480: must be text, not a number"),
    ("startTime: null", "missing-field .startTime: Required value: a time of day such as 22:00"),
    (
        "targetQoSLevel: 3",
        "out-of-range .targetQoSLevel: Invalid value: 3: must be less than or equal to 2",
    ),
    (
        "targetQoSLevel: -2",
        "out-of-range .targetQoSLevel: Invalid value: -2: must be greater than or equal to -1",
    ),
    (
        "targetQoSLevel: BE",
        "wrong-type .targetQoSLevel: Invalid value: \"BE\": must be a whole number, not text",
    ),
    ("targetQoSLevel: null", "missing-field .targetQoSLevel: Required value: a level from -1 to 2"),
    ("timeZone: CST", "time-zone .timeZone"),
    (
        "selector: {}",
        "selector .selector: Invalid value: {}: an empty selector would select every pod",
    ),
    ("selector: {matchLabels: {}, matchExpressions: []}", "selector .selector: Invalid value: {}"),
    ("selector: null", "missing-field .selector: Required value: the labels of the pods"),
    (
        "selector: {matchLabels: {a/b/c: d}}",
        "selector .selector.matchLabels[a/b/c]: Invalid value: \"a/b/c\": the key of a label",
    ),
    (
        "selector: {matchLabels: {a: -d}}",
        "selector .selector.matchLabels.a: Invalid value: \"-d\": the value of a label",
    ),
    (
        "selector: {matchLabels: {a: 1}}",
        "wrong-type .selector.matchLabels.a: Invalid value: 1: must be text, not a number",
    ),
    (
        "selector: {matchExpressions: [{key: a, operator: in, values: [b]}]}",
        "unsupported-value .selector.matchExpressions[0].operator: Unsupported value: \"in\"",
    ),
    (
        "selector: {matchExpressions: [{key: a, operator: In}]}",
        "missing-field .selector.matchExpressions[0].values: Required value: In needs at least one value",
    ),
    (
        "selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}",
        "selector .selector.matchExpressions[0].values: Forbidden: Exists takes no values",
    ),
    (
        "checkInterval: soon",
        "duration .checkInterval: Invalid value: \"soon\": is not a duration; write one such as 30s or 1m30s",
    ),
    (
        "checkInterval: 500ms",
        "out-of-range .checkInterval: Invalid value: \"500ms\": must be at least 1s",
    ),
    ("checkInterval: 30", "out-of-range .checkInterval: Invalid value: 30: must be at least 1s"),
    (
        "checkInterval: true",
        "wrong-type .checkInterval: Invalid value: true: must be a whole number or text, not true or false",
    ),
    ("enable: 'yes'", "wrong-type .enable"),
    ("name: 5", "wrong-type .name: Invalid value: 5: must be text, not a number"),
];

#[test]
fn each_field_of_a_policy_is_checked() {
    let field = "globalConfig.timeBasedQoSPolicies[0]";
    for (fields, expected) in MISTAKES {
        let message = only_message(&policy(fields));
        let (code, rest) = expected.split_once(' ').unwrap();
        let expected = format!("{code} {field}{rest}");
        assert!(message.starts_with(&expected), "{fields}\n{message}\n{expected}");
    }
}

#[test]
fn all_mistakes_of_a_policy_are_reported_together() {
    let text = policy(
        "startTime: '9:00', endTime: '25:00', timeZone: utc, checkInterval: 1d, targetQoSLevel: 7",
    );
    let fields: Vec<String> = messages(&text)
        .iter()
        .map(|message| message.split(['.', ':']).nth(2).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(fields, ["startTime", "endTime", "timeZone", "checkInterval", "targetQoSLevel"]);
}

#[test]
fn a_mistyped_name_is_reported_and_a_field_of_another_version_is_allowed() {
    assert_eq!(
        only_message(&policy("starttime: '22:00', startTime: '22:00'")),
        "ignored-field globalConfig.timeBasedQoSPolicies[0].starttime: Ignored: a policy has no such field"
    );
    let text = policy("name: a").replace("startTime", "starTime");
    assert_eq!(
        only_message(&text),
        "mistyped-field globalConfig.timeBasedQoSPolicies[0].starTime: Required value: this field is called \
         startTime"
    );
    for (from, to) in
        [("globalConfig", "globalconfig"), ("timeBasedQoSPolicies", "timeBasedQosPolicies")]
    {
        let message = only_message(&policy("name: a").replace(from, to));
        assert!(
            message.starts_with("ignored-field ")
                && message.ends_with(&format!("is called {from}"))
        );
    }
}

#[test]
fn names_are_unique_in_a_list_also_those_that_are_not_written() {
    let list = |names: [&str; 2]| {
        let item = |name: &str| {
            format!(
                "{{{name}startTime: '01:00', endTime: '02:00', selector: {{matchLabels: {{a: b}}}}, targetQoSLevel: 0}}"
            )
        };
        format!("{{timeBasedQoSPolicies: [{}]}}", names.map(item).join(", "))
    };
    let global = |names| config(&format!("globalConfig: {}", list(names)));
    assert_eq!(messages(&global(["", ""])), [""; 0]);
    assert_eq!(
        only_message(&global(["name: policy-1, ", ""])),
        "duplicate-item globalConfig.timeBasedQoSPolicies[1].name: Duplicate value: \"policy-1\": policy 0 has \
         this name"
    );
    let of_nodes = list(["name: a, ", ""]).replacen('{', "{selector: {}, ", 1);
    let both = format!("globalConfig: {}\nnodesConfig: [{of_nodes}]", list(["name: a, ", ""]));
    assert_eq!(messages(&config(&both)), [""; 0], "each list stands for itself");
}

#[test]
fn the_entries_for_nodes_are_checked_as_far_as_they_have_policies() {
    let entry = |selector: &str| {
        config(&format!(
            "nodesConfig:\n- evictingConfig: {{}}\n- {selector}\n  timeBasedQoSPolicies: []\n"
        ))
    };
    assert_eq!(messages(&entry("selector: {matchLabels: {pool: batch}}")), [""; 0]);
    assert_eq!(messages(&entry("selector: {}")), [""; 0], "it is every node");
    let expected = [
        "9:7 ignored-field nodesConfig[1].timeBasedQoSPolicies: Ignored: without a selector, these \
      policies apply to no node",
    ];
    assert_eq!(findings(&entry("name: x")), expected);
    let bad = only_message(&entry("selector: {matchLabels: {pool: [a]}}"));
    assert!(bad.starts_with("wrong-type nodesConfig[1].selector.matchLabels.pool: "), "{bad}");
    for (document, expected) in [
        ("nodesConfig: {a: b}", "wrong-type nodesConfig: Invalid value: must be a list, not a map"),
        ("nodesConfig: [a]", "wrong-type nodesConfig[0]: Invalid value: must be a map, not text"),
        ("globalConfig: []", "wrong-type globalConfig: Invalid value: must be a map, not a list"),
        (
            "globalConfig: {timeBasedQoSPolicies: {a: b}}",
            "wrong-type globalConfig.timeBasedQoSPolicies: Invalid value: must be a list, not a map",
        ),
        ("- a", "wrong-type data[config.yaml]: Invalid value: must be a map, not a list"),
        (
            "globalConfig: {timeBasedQoSPolicies: [a]}",
            "wrong-type globalConfig.timeBasedQoSPolicies[0]: Invalid value: \"a\": must be a map, not text",
        ),
    ] {
        assert_eq!(only_message(&config(document)), expected);
    }
}

#[test]
fn an_unreadable_text_is_reported_at_its_line() {
    let found = findings(&config("globalConfig:\n  a: b: c\n"));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("7:11 syntax data[config.yaml]: "), "{found:#?}");
    let twice = findings(&config("globalConfig: {}\nother: {}\nglobalConfig: {}\n"));
    assert!(twice[0].starts_with("8:5 duplicate-key data[config.yaml]: "), "{twice:#?}");
    let several = findings(&config("globalConfig: {}\n---\nglobalConfig: {}\n"));
    assert!(
        several[0].contains("syntax data[config.yaml]: only the first document is read"),
        "{several:#?}"
    );
}

#[test]
fn a_config_map_of_a_megabyte_is_checked_and_a_thousand_mistakes_reported() {
    let item = "\n  - {startTime: '9:00', endTime: '10:00', selector: {matchLabels: {a: b}}, targetQoSLevel: 0}";
    let text = config(&format!("globalConfig:\n  timeBasedQoSPolicies:{}", item.repeat(10_000)));
    assert!(text.len() > 900_000);
    let found = messages(&text);
    assert_eq!(found.len(), 1_001);
    assert!(found[999].contains("[999].startTime"), "{}", found[999]);
    assert!(found[1_000].contains("9000 more mistakes in this document"), "{}", found[1_000]);
}

/// The usable QoS levels of an object.
fn levels(text: &str) -> Option<QosLevels> {
    match check_one(text).slim? {
        Slim::QosLevels(object) => Some(object.policy?.as_ref().clone()),
        _ => None,
    }
}

#[test]
fn absent_fields_of_a_policy_have_their_defaults() {
    let written = levels(DESIGN).unwrap();
    let PolicyList::Known(policies) = written.global else { panic!() };
    let expected = "open from 22:00 to 08:00 the next day, every day (Asia/Shanghai)";
    assert_eq!(policies[0].windows.describe(), expected);
    assert_eq!(policies[0].check_interval, SignedDuration::from_secs(30));
    assert_eq!(policies[0].selector.to_string(), "workload-type=online");
    assert_eq!(policies[0].target.to_string(), "-1");
    let bare = levels(&policy("enable: null, name: ''")).unwrap();
    let PolicyList::Known(policies) = bare.global else { panic!() };
    assert_eq!((&*policies[0].name, policies[0].is_enabled), ("policy-0", true));
    assert_eq!(policies[0].windows.zone().name(), "UTC");
    assert_eq!(policies[0].check_interval, SignedDuration::from_secs(15));
    assert!(bare.nodes == NodeLists::Known(Box::default()));
}

#[test]
fn a_list_with_a_mistake_is_rejected_as_a_whole_and_alone() {
    let item = |time: &str| {
        format!(
            "{{name: n{time}, startTime: '{time}:00', endTime: '12:00', selector: {{matchLabels: {{a: b}}}}, targetQoSLevel: 0}}"
        )
    };
    let good = format!("timeBasedQoSPolicies: [{}, {}]", item("01"), item("02"));
    let bad = format!("timeBasedQoSPolicies: [{}, {}]", item("01"), item("25"));
    let of = |global: &str, node: &str, selector: &str| {
        let nodes = format!("nodesConfig: [{{selector: {selector}, {node}}}]");
        levels(&config(&format!("globalConfig: {{{global}}}\n{nodes}\n"))).unwrap()
    };
    let of_node = |levels: &QosLevels| match &levels.nodes {
        NodeLists::Known(lists) => lists[0].clone(),
        NodeLists::Unusable => panic!(),
    };
    let both = of(&good, &good, "{}");
    assert!(matches!(&both.global, PolicyList::Known(list) if list.len() == 2));
    assert!(of_node(&both).list == both.global && of_node(&both).selector.is_some());
    let bad_global = of(&bad, &good, "{}");
    assert_eq!(bad_global.global, PolicyList::Unusable);
    assert_eq!(of_node(&bad_global), of_node(&both));
    let bad_node = of(&good, &bad, "{}");
    assert_eq!((&bad_node.global, of_node(&bad_node).list), (&both.global, PolicyList::Unusable));
    let bad_selector = of(&good, &good, "{matchLabels: {-: b}}");
    assert!(of_node(&bad_selector).selector.is_none());
}

#[test]
fn an_unreadable_document_is_unusable_and_an_empty_one_has_no_policies() {
    for bad in
        ["a: b: c", "- a", "globalConfig: {}\nglobalConfig: {}", "globalConfig: {}\n---\na: b"]
    {
        assert_eq!(levels(&config(bad)), Some(QosLevels::unusable()), "{bad}");
    }
    for empty in ["", "globalConfig: {}", "other: 1\nother: 2"] {
        assert_eq!(levels(&config(empty)), Some(QosLevels::none()), "{empty}");
    }
    let no_text = config("").replace("config.yaml: |", "config.yaml: 5");
    assert_eq!(levels(&no_text), Some(QosLevels::unusable()));
    let no_key = config("").replace("config.yaml: |", "colocation-config: ''");
    assert_eq!(levels(&no_key), Some(QosLevels::unusable()), "a slip of the key undoes nothing");
}
