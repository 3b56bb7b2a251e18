//! Every finding of the program: each code has at least one file, and each finding has a location and a fix.

mod fixed;
mod tables;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use almanac_api::finding::Code;
use serde_json::Value;

use self::tables::{LEVELS, PATTERNS, SCHEDULES};
use crate::lint::OF_LINT;
use crate::repositories::repository::{PRESENT, Repository, findings};
use crate::running::{assert_written_down, list};

/// A file with a mistake: the code of its finding, and the fix if the test checks it.
struct Case {
    code: Code,
    text: Vec<u8>,
    fix: Option<&'static str>,
}

fn case(code: Code, text: impl Into<Vec<u8>>) -> Case {
    Case { code, text: text.into(), fix: None }
}

/// A policy. Each file gets a unique name for `NAME`.
fn policy(rules: &str) -> String {
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {{name: NAME}}\n\
         spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: NAME}}\n  rules:\n{rules}"
    )
}

fn rule(fields: &str) -> String {
    policy(&format!("  - {{name: a, {fields}, targetReplicas: 3}}\n"))
}

fn schedule(expression: &str) -> String {
    rule(&format!("schedule: '{expression}'"))
}

fn spec(kind: &str, spec: &str) -> String {
    let group = if kind == "FederatedHPA" { "karmada.io" } else { "karpenter.sh" };
    format!(
        "apiVersion: autoscaling.{group}/v1alpha1\nkind: {kind}\nmetadata: {{name: NAME}}\nspec: {spec}\n"
    )
}

fn start(pattern: &str) -> String {
    spec(
        "MetricsProducer",
        &format!(
            "{{schedule: {{defaultReplicas: 1, behaviors: [{{replicas: 2, start: {pattern}, end: {{hours: 5}}}}]}}}}"
        ),
    )
}

fn autoscaler(more: &str) -> String {
    let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}";
    spec("HorizontalAutoscaler", &format!("{{{target}, {more}}}"))
}

/// A `ConfigMap` of Volcano's agent, with one policy.
fn levels(policy: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: volcano-agent-config, namespace: NAME}}\ndata:\n  \
         config.yaml: |\n    globalConfig: {{timeBasedQoSPolicies: [{{{policy}, targetQoSLevel: -1}}]}}\n"
    )
}

/// An object of Open Cluster Management, of this version and kind.
fn hub(kind: &str, rest: &str) -> String {
    format!(
        "# A hub.\n{{apiVersion: cluster.open-cluster-management.io/{kind}, metadata: {{name: NAME}}, {rest}}}\n"
    )
}

/// Texts that are not YAML.
const SYNTAX: &[&str] = &[
    "a: b: c\n",
    "a: [b\n",
    "a: {b\n",
    "a: 'b\n",
    "a: \"b\n---\n",
    "a: @b\n",
    "a:\n- b\nc\n",
    "a: \"\\d\"\n",
    "a: \"\\xyz\"\n",
    "a: * * *\n",
    "a: [,]\n",
    "a: !<b\n",
    "a: !b!c d\n",
    "a: !b\"c\"\n",
    "a: !!\n",
    "a: |0\n  b\n",
    "%TAG b\n---\na: 1\n",
    "%YAML b\n---\na: 1\n",
    "%1\na: 1\n",
    "a: | b\n",
    "a: - b\n",
    "a: ? b\n",
    "%YAML 1.1\n---\na: b\n",
    "--- a\n",
    "a: 1\n...\nb: 2\n",
    "a: .nan\n",
    "~: 1\n",
    "[a]: b\n",
    "a: !!int b\n",
    "<<: a\n",
    "a: \u{7}\n",
    "kubectl get pods -o yaml\na: 1\n",
    r#"{"a" 1}"#,
    "a: \"\\/\"\n",
    "a: &b\n  c: 1\nd: [!,e]\n",
];

/// Mistakes in a text before its first object.
fn texts() -> Vec<Case> {
    let object = schedule("0 8 * * *");
    let utf_16: Vec<u8> = object.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let many = format!("a: &a [{}]\nb: [{}]\n", "1,".repeat(1_000), "*a,".repeat(1_000));
    let mut cases = vec![
        Case {
            fix: Some("name a YAML or JSON file, or leave this one out with --exclude"),
            ..case(Code::UnreadableFile, b"\x7fELF\x00\xff".to_vec())
        },
        case(Code::Encoding, utf_16),
        case(Code::Encoding, [object.as_bytes(), b"# caf\xe9\n"].concat()),
        case(Code::LineEnds, object.replace('\n', "\r")),
        case(Code::NothingIgnored, format!("# almanac:ignore shedule\n{object}")),
        case(
            Code::Template,
            object.replace("targetReplicas: 3", "targetReplicas: {{ .Values.a }}"),
        ),
        case(Code::Template, object.replace("targetReplicas: 3", "targetReplicas: \"${PEAK}\"")),
        case(Code::SlashComment, format!("// a\n{object}")),
        case(Code::Tab, "a:\n\tb: 1\n"),
        case(Code::DuplicateKey, format!("{object}kind: CronFederatedHPA\n")),
        case(Code::Alias, "a: *b\n"),
        case(Code::Alias, "a: &a [*a]\n"),
        case(Code::Alias, many),
        case(Code::TooLarge, format!("a: {}", "[".repeat(200))),
        case(Code::TooLarge, format!("{{\"a\": {}", "[".repeat(200))),
        case(Code::NotAnObject, "- a\n- b\n"),
        case(Code::NotAnObject, "apiVersion: v1\n"),
        case(Code::UnknownField, object.replace("kind: Cron", "\u{200b}kind: Cron")),
    ];
    cases.extend(SYNTAX.iter().map(|text| case(Code::Syntax, *text)));
    let json = [
        r#"{"a": }"#,
        r#"{"a": 1"#,
        r#"{"a": 1 "b": 2}"#,
        r#"{"a": 1,}"#,
        r#"{"a": 01}"#,
        r#"{"a": "\q"}"#,
        r#"{"a": "b}"#,
        r#"{"a": 1, b: 2}"#,
        r#"{"a": "#,
    ];
    // Most JSON is YAML, but not with a comment that is invalid in both.
    cases.extend(json.map(|text| case(Code::Syntax, format!("// a\n{text}"))));
    cases
}

/// Two rules of one policy.
fn two(first: &str, second: &str) -> String {
    policy(&format!(
        "  - {{name: a, schedule: \"{first}\", targetReplicas: 3}}\n  - {{name: b, schedule: \"{second}\", \
         targetReplicas: 4}}\n"
    ))
}

/// A rule for the bounds of an autoscaler.
fn bounds(more: &str) -> String {
    policy(&format!("  - {{name: a, schedule: '0 8 * * *', {more}}}\n"))
        .replace("apps/v1, kind: Deployment", "autoscaling/v2, kind: HorizontalPodAutoscaler")
}

/// Mistakes in the shape of an object.
fn shapes() -> Vec<Case> {
    let object = schedule("0 8 * * *");
    let with = |from: &str, to: &str| object.replace(from, to);
    let long = "a".repeat(40);
    let federated =
        "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: NAME}, maxReplicas: 0}";
    vec![
        Case {
            fix: Some("write kind: CronFederatedHPA"),
            ..case(Code::MistypedKind, with("CronFederatedHPA", "CronFederatedHpa"))
        },
        case(Code::UnknownKind, with("io/v1alpha1", "io/v1")),
        Case {
            fix: Some("write apiVersion: batch/v1"),
            ..case(
                Code::RemovedVersion,
                "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: NAME}\n\
                 spec: {schedule: '0 3 * * *', timeZone: Etc/UTC}\n",
            )
        },
        case(Code::DuplicateObject, format!("{object}---\n{object}")),
        case(Code::InvalidName, with("{name: NAME}", "{name: My_Shop}")),
        case(Code::InvalidName, with("{name: NAME}", "{name: café}")),
        Case {
            fix: Some("write a-b"),
            ..case(Code::InvalidName, with("{name: NAME}", "{name: NAME, namespace: A.b}"))
        },
        case(Code::MissingField, with("metadata: {name: NAME}", "metadata: {}")),
        case(Code::MissingField, rule("schedule: ''")),
        case(Code::MissingField, policy("  - {name: a, schedule: '0 8 * * *'}\n")),
        case(Code::MissingField, with("apiVersion: apps/v1, ", "")),
        case(Code::UnknownField, rule("schedule: '0 8 * * *', scedule: a")),
        case(Code::UnknownField, rule("schedule: '0 8 * * *', zzz: a")),
        case(Code::WrongType, rule("schedule: 8")),
        case(Code::WrongType, rule("schedule: [a]")),
        case(Code::WrongType, rule("schedule: '0 8 * * *', suspend: 'true'")),
        case(Code::WrongType, rule("schedule: '0 8 * * *', suspend: a")),
        case(Code::WrongType, with("targetReplicas: 3", "targetReplicas: 3.5")),
        case(Code::WrongType, with("targetReplicas: 3", "targetReplicas: three")),
        case(Code::WrongType, policy("    a: b\n")),
        case(
            Code::UnsupportedValue,
            autoscaler(
                "minReplicas: 0, maxReplicas: 3, metrics: [{prometheus: {query: x, target: {type: Sum, value: 1}}}]",
            ),
        ),
        case(
            Code::OutOfRange,
            autoscaler(
                "minReplicas: 0, maxReplicas: 3, metrics: [{prometheus: {query: x, target: {type: Value, value: 0}}}]",
            ),
        ),
        case(Code::OutOfRange, autoscaler("minReplicas: -1, maxReplicas: 3, metrics: []")),
        case(Code::OutOfRange, spec("FederatedHPA", federated)),
        case(Code::OutOfRange, with("targetReplicas: 3", "targetReplicas: -3")),
        case(Code::OutOfRange, with("targetReplicas: 3", "targetReplicas: 3000000000")),
        case(Code::OutOfRange, with("name: a", &format!("name: {long}"))),
        case(Code::OutOfRange, rule("schedule: '0 8 * * *', maxDelaySeconds: 0")),
        case(Code::OutOfRange, rule("schedule: '0 8 * * *', failedHistoryLimit: 33")),
        case(Code::OutOfRange, bounds("targetMinReplicas: 0")),
        case(Code::OutOfRange, start("{hours: 4}").replace("replicas: 2", "replicas: -2")),
    ]
}

/// Mistakes in the content of an object.
fn meanings() -> Vec<Case> {
    let object = schedule("0 8 * * *");
    let with = |from: &str, to: &str| object.replace(from, to);
    vec![
        case(Code::DuplicateItem, two("0 8 * * *", "0 9 * * *").replace("name: b", "name: a")),
        case(Code::MistypedField, with("name: a", "ruleName: a")),
        case(Code::MistypedVersion, with("apps/v1", "app/v1")),
        case(Code::TimeZone, rule("schedule: '0 8 * * *', timeZone: Europe/Berln")),
        case(Code::TimeZone, rule("schedule: '0 8 * * *', timeZone: Nowhere/Atall")),
        case(Code::TimeZone, rule("schedule: '0 8 * * *', timeZone: +08:00")),
        case(Code::TimeZone, rule("schedule: '0 8 * * *', timeZone: CST")),
        case(Code::Window, start("{hours: 5}")),
        case(
            Code::TwoSchedules,
            spec(
                "MetricsProducer",
                "{schedule: {defaultReplicas: 1, behaviors: []}, scheduleSpec: {defaultReplicas: 1, behaviors: []}}",
            ),
        ),
        case(Code::Target, with("Deployment", "DaemonSet")),
        case(Code::Target, with("Deployment", "deployment")),
        case(Code::Target, with("apps/v1", "apps/v1/x")),
        case(Code::Target, with("apps/v1", "batch/v1")),
        case(
            Code::Target,
            with("apps/v1, kind: Deployment", "autoscaling.karmada.io/v1alpha1, kind: Deployment"),
        ),
        case(Code::CrossedBounds, autoscaler("minReplicas: 4, maxReplicas: 3, metrics: []")),
        case(Code::CrossedBounds, bounds("targetMinReplicas: 5, targetMaxReplicas: 3")),
        case(Code::MaxDelay, rule("schedule: '*/5 * * * *', maxDelaySeconds: 600")),
        case(
            Code::Query,
            autoscaler(
                "minReplicas: 0, maxReplicas: 3, metrics: [{prometheus: {query: 'max(a, b)', target: {type: Value, value: 1}}}]",
            ),
        ),
        case(Code::IgnoredField, rule("schedule: '0 8 * * *', targetMinReplicas: 2")),
        case(Code::IgnoredField, bounds("targetMinReplicas: 2, targetReplicas: 3")),
        case(Code::SameMinute, two("0 8 * * *", "0 8 * * 1")),
        case(
            Code::TwoWriters,
            format!(
                "{object}---\n{}",
                rule("schedule: '0 8 * * *'")
                    .replace("targetReplicas: 3", "targetReplicas: 5")
                    .replace("metadata: {name: NAME}", "metadata: {name: NAME-2}")
            ),
        ),
        case(
            Code::ForeignPolicy,
            "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: NAME}\nspec: {triggers: [{type: cron}]}\n",
        ),
        case(
            Code::NoSuchTarget,
            with("Deployment, name: NAME", "Deployment, name: checkuot-NAME")
                + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: checkout-NAME}\n",
        ),
        case(Code::ClockChange, rule("schedule: '30 2 * * *', timeZone: Europe/Berlin")),
        case(
            Code::LookAlike,
            rule("schedule: '0 8 * * *'").replace("name: a", "name: \u{201c}a\u{201d}"),
        ),
        case(Code::Unsupported, spec("MetricsProducer", "{queue: {type: AWSSQSQueue, id: q}}")),
    ]
}

/// Mistakes in schedules, each with its fix.
fn schedules() -> Vec<Case> {
    let written = SCHEDULES.iter().map(|(text, fix)| (Code::Schedule, schedule(text), *fix));
    let patterns = PATTERNS.iter().map(|(text, fix)| (Code::Pattern, start(text), *fix));
    let others = [
        (
            Code::Schedule,
            rule("schedule: 'TZ=Asia/Tokyo 0 8 * * *', timeZone: Europe/Berlin"),
            "write \"0 8 * * *\", and as timeZone either Asia/Tokyo or Europe/Berlin",
        ),
        (
            Code::Schedule,
            schedule("TZ=Asia/Tokyo 0 8 * * *"),
            "write \"0 8 * * *\", and timeZone: Asia/Tokyo",
        ),
        (
            Code::Schedule,
            schedule("TZ=Europe/Kyev 0 8 * * *"),
            "write \"0 8 * * *\", and timeZone: Europe/Kyiv",
        ),
        (
            Code::Schedule,
            schedule("TZ=Nowhere/X 0 8 * * *"),
            "write \"0 8 * * *\", and an IANA name such as Europe/Berlin as timeZone",
        ),
        (
            Code::Schedule,
            rule("schedule: 'TZ=Nowhere/X 0 8 * * *', timeZone: Europe/Berlin"),
            "write \"0 8 * * *\", and timeZone: Europe/Berlin",
        ),
        (Code::LongStep, schedule("*/90 * * * *"), "write 0 instead of */90, or a shorter step"),
        (
            Code::LongStep,
            schedule("*/90 2 * * *"),
            "write a shorter step, or list the values that are meant",
        ),
        (
            Code::EitherDay,
            schedule("0 0 13 * 5"),
            "to keep one of the two, write \"0 0 13 * *\" or \"0 0 * * 5\"",
        ),
        (
            Code::WeekdayNumbers,
            schedule("0 12 ? * 2-6"),
            "write the weekdays by name: tue-sat as they are here, or mon-fri",
        ),
        (
            Code::Expression,
            hub(
                "v1beta1, kind: Placement",
                "spec: {predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['true &&']}}}]}",
            ),
            "write a CEL expression over managedCluster that is true or false",
        ),
        (
            Code::NeverHolds,
            hub(
                "v1beta1, kind: Placement",
                "spec: {predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['1']}}}]}",
            ),
            "compare it with something, or correct what it is given",
        ),
        (
            Code::DroppedStatus,
            hub("v1alpha1, kind: AddOnPlacementScore", "status: {scores: []}"),
            "create the objects first, then apply the file again with --server-side --subresource=status",
        ),
    ];
    let levels = LEVELS.iter().map(|(code, policy, fix)| (*code, levels(policy), *fix));
    let all = written.chain(patterns).chain(levels).chain(others);
    all.map(|(code, text, fix)| Case { code, text: text.into(), fix: Some(fix) }).collect()
}

/// Whether only `lint` reports a code, by running policies. The tests of such codes are in `tests/offline/lint`.
fn shows_only_over_time(code: Code) -> bool {
    let of_validate = [Code::TwoWriters, Code::UnitsTooSmall, Code::ClockChange];
    OF_LINT.contains(&code) && !of_validate.contains(&code)
}

fn cases() -> Vec<Case> {
    [texts(), shapes(), meanings(), schedules(), units::cases()].into_iter().flatten().collect()
}

impl Case {
    /// The name of the file with the mistake, and its content.
    fn file(&self, number: usize) -> (String, Vec<u8>) {
        let Case { code, text, .. } = self;
        let is_json = text.starts_with(b"{");
        let file = format!("{number:03}-{code}.{}", if is_json { "json" } else { "yaml" });
        let text = match std::str::from_utf8(text) {
            Ok(text) => text.replace("NAME", &format!("shop-{number}")).into_bytes(),
            Err(_) => text.clone(),
        };
        (file, text)
    }
}

/// A repository of these files, and of a file that is too large to be read.
fn repository_of<'a>(
    name: &str,
    files: impl Iterator<Item = (String, Vec<u8>)> + 'a,
) -> Repository {
    let add =
        |repository: Repository, (file, text): (String, Vec<u8>)| repository.file(&file, text);
    let repository = files.fold(Repository::new(name), add);
    fs::File::create(repository.root().join("large.yaml")).unwrap().set_len(70 << 20).unwrap();
    repository
}

/// A new code needs a case here, or a file in `tests/offline/lint/found` if it only appears over time.
#[test]
fn text_and_sarif_of_each_code_match_the_golden_files() {
    let cases = cases();
    let mut of_codes: Vec<&Case> = Vec::new();
    for case in &cases {
        if !of_codes.iter().any(|known| known.code == case.code) {
            of_codes.push(case);
        }
    }
    let files = of_codes.iter().enumerate().map(|(number, case)| case.file(number));
    let repository = repository_of("catalogue-golden", files);
    let mut output = String::new();
    for (format, name) in [("text", "each-code.txt"), ("sarif", "each-code.sarif")] {
        let arguments = ["lint", "*.yaml", "--from", PRESENT, "-o", format];
        let stdout = repository.run(&arguments).stdout;
        assert_written_down(Path::new("repositories/catalog").join(name), &stdout);
        output = stdout;
    }
    let log: Value = serde_json::from_str(&output).unwrap();
    let results = list(&log["runs"][0]["results"]).iter();
    let output: BTreeSet<&str> = results.filter_map(|it| it["ruleId"].as_str()).collect();
    for code in Code::ALL.iter().map(|code| code.name()) {
        let over_time =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/offline/lint/found").join(code);
        let has = |extension| over_time.with_extension(extension).is_file();
        assert!(output.contains(code) || has("txt") && has("sarif"), "{code} has no golden output");
    }
}

#[test]
fn findings_of_every_code_have_a_column_and_a_fix() {
    let cases = cases();
    let files: BTreeMap<String, &Case> =
        cases.iter().enumerate().map(|(number, case)| (case.file(number).0, case)).collect();
    let all = cases.iter().enumerate().map(|(number, case)| case.file(number));
    let repository = repository_of("catalogue", all);
    let output = repository.run_json("lint", &["-f", "*.yaml", "-f", "*.json"]);
    let all = list(&output["findings"]);
    for finding in all {
        for place in ["line", "column"] {
            assert!(finding[place].as_u64().is_some_and(|place| place > 0), "{finding:#}");
        }
        let fix = finding["fix"].as_str().unwrap_or_default();
        let says_nothing = ["", "correct the value", "correct it here or just before"];
        assert!(!says_nothing.contains(&fix), "{finding:#}");
    }
    for (file, Case { code, fix, .. }) in &files {
        let is_it = |it: &&Value| it["file"] == file.as_str() && it["code"] == code.name();
        let of_file: Vec<&Value> = all.iter().filter(is_it).collect();
        assert!(!of_file.is_empty(), "{file} has no {code}: {:#?}", in_file(all, file));
        if let Some(fix) = fix {
            let output: Vec<&str> = of_file.iter().filter_map(|it| it["fix"].as_str()).collect();
            assert_eq!(output, [*fix], "{file}");
        }
    }
    let found = all.iter().filter_map(|it| it["code"].as_str());
    let names = |is_over_time: bool| -> BTreeSet<&str> {
        let codes = Code::ALL.iter().filter(|code| shows_only_over_time(**code) == is_over_time);
        codes.map(|code| code.name()).collect()
    };
    let (over_time, expected) = (names(true), names(false));
    assert_eq!(found.filter(|name| !over_time.contains(name)).collect::<BTreeSet<_>>(), expected);
    assert!(findings(&output).contains(&"unreadable-file large.yaml:1:1".to_owned()));
}

fn in_file<'a>(all: &'a [Value], file: &str) -> Vec<&'a Value> {
    all.iter().filter(|it| it["file"] == file).collect()
}
