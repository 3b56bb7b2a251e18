//! Policies of other projects that scale by the clock: recognised by name, not carried out.

use super::tree::Node;
use crate::finding::{Code, Finding, Path};
use crate::kinds::group_and_version;

const KEDA: &str = "keda.sh";
const ALIBABA: &str = "autoscaling.alibabacloud.com";
const KUBE_GREEN: &str = "kube-green.com";

/// The API groups of which some kind scales by the clock.
pub(super) const GROUPS: [&str; 3] = [KEDA, ALIBABA, KUBE_GREEN];

/// What there is to say of an object, if it scales by the clock for another project.
pub(super) fn told(api_version: &str, kind: &str, node: &Node) -> Option<Finding> {
    let (group, _) = group_and_version(api_version);
    let project = match (group, kind) {
        (KEDA, "ScaledObject" | "ScaledJob") if has_cron_trigger(node) => "KEDA",
        (ALIBABA, "CronHorizontalPodAutoscaler") => "kubernetes-cronhpa-controller",
        (KUBE_GREEN, "SleepInfo") => "kube-green",
        _ => return None,
    };
    let message =
        format!("this {kind} is a cron policy for {project}; Almanac does not carry it out");
    Some(
        Finding::new(Code::ForeignPolicy, Path::Root.key("kind"), message)
            .with_fix("to have Almanac scale the target, replace it with a CronFederatedHPA"),
    )
}

fn has_cron_trigger(node: &Node) -> bool {
    let triggers = node.get("spec").and_then(|spec| spec.get("triggers")).and_then(Node::as_list);
    let is_cron = |trigger: &Node| trigger.get("type").and_then(Node::as_text) == Some("cron");
    triggers.is_some_and(|triggers| triggers.iter().any(is_cron))
}
