//! Mistakes in policies for units of nodes.

use almanac_api::finding::Code;

use super::{Case, case};

/// A policy for units of nodes, with these fields of its spec.
fn units(spec: &str) -> String {
    format!(
        "apiVersion: scheduling.sigs.x-k8s.io/v1alpha1\nkind: ResourcePolicy\nmetadata: {{name: NAME, namespace: NAME}}\n\
         spec: {{{spec}}}\n"
    )
}

/// Mistakes in units of nodes, and their fixes.
pub(super) fn cases() -> Vec<Case> {
    let pods = |labels: &str| format!("podSelector: {{matchLabels: {labels}}}");
    let unit = |fields: &str| format!("{{{fields}nodeSelector: {{matchLabels: {{pool: a}}}}}}");
    let web = |more: &str| format!("{}, units: [{}]{more}", pods("{app: NAME}"), unit(""));
    let of = |units_of: &str| units(&format!("{}, units: [{units_of}]", pods("{app: NAME}")));
    let closed = unit("maxCount: 0, ");
    let twice =
        "{matchLabels: {app: a}, matchExpressions: [{key: app, operator: In, values: [b]}]}";
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: NAME, namespace: NAME, labels: {app: NAME}, \
               annotations: {controller.kubernetes.io/pod-deletion-cost: '1'}}\n";
    let workload = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME, namespace: NAME}\nspec: {replicas: 4, \
                    selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: \
                    [{name: a, image: a}]}}}\n";
    let second = units(&web("")).replace("metadata: {name: NAME,", "metadata: {name: NAME-2,");
    let fixed = |code, fix, text: String| Case { fix: Some(fix), ..case(code, text) };
    vec![
        fixed(Code::UnknownField, "write units", units(&web("").replace("units", "Units"))),
        fixed(
            Code::UnknownField,
            "write apiVersion: scheduling.sigs.x-k8s.io/v1alpha1",
            units(&web("")).replace("apiVersion", "piVersion"),
        ),
        fixed(Code::UnsupportedValue, "write prefer", units(&web(", strategy: Prefer"))),
        fixed(
            Code::MissingField,
            "name the labels of the nodes, under matchLabels or matchExpressions",
            of("{nodeSelector: {}}"),
        ),
        fixed(Code::MissingField, "add a unit with its nodeSelector", of("")),
        fixed(
            Code::DuplicateItem,
            "give each unit a name of its own",
            of(&[unit("name: unit-1, "), unit("").replace("pool: a", "pool: b")].join(", ")),
        ),
        fixed(
            Code::InvalidName,
            "give the unit another name",
            of(&unit("name: outside all units, ")),
        ),
        fixed(Code::DuplicateItem, "remove one of them", units(&web(", matchLabelKeys: [a, a]"))),
        fixed(
            Code::TwoPolicies,
            "change the selectors so that no pod fits both, or put all units in one policy",
            format!("{}---\n{second}", units(&web(""))),
        ),
        case(Code::Contradiction, units(&web("").replace("{matchLabels: {app: NAME}}", twice))),
        case(Code::CoveredUnit, of(&[unit(""), unit("")].join(", "))),
        case(Code::NoOpenUnit, of(&closed).replace("spec: {", "spec: {strategy: required, ")),
        fixed(
            Code::LabelOfNoPod,
            "write pod-template-hash if that is meant",
            units(&web(", matchLabelKeys: [pod-template-has]")),
        ),
        case(
            Code::UnitsTooSmall,
            format!(
                "{}{workload}",
                of(&unit("maxCount: 3, ")).replace("spec: {", "spec: {strategy: required, ")
            ),
        ),
        case(Code::OwnDeletionCost, format!("{}{pod}", units(&web("")))),
        case(
            Code::SchedulerPlugin,
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: \
             {multiPoint: {enabled: [{name: resourcepolicy}]}}}]\n",
        ),
        case(Code::EveryPod, units(&web("").replace(&pods("{app: NAME}"), "podSelector: {}"))),
        case(Code::ClosedUnit, of(&closed)),
    ]
}
