//! When a `CronJob` starts Jobs, with what is wrong with how it says so.

use super::go_duration;
use super::schedule::check_firings;
use crate::finding::{Code, Finding, Path};
use crate::reading::{Node, Starts};

/// What Kubernetes' scheduler of `CronJobs` knows beside the expressions of our dialect.
const EVERY: &str = "@every ";

/// Checks `spec.schedule` and `spec.timeZone`.
pub(crate) fn check_cron_job(node: &Node) -> (Starts, Vec<Finding>) {
    let spec = Path::Root.key("spec");
    let field = spec.key("schedule");
    let of_spec = |key: &str| node.get("spec").and_then(|spec| spec.get(key));
    let Some(schedule) = of_spec("schedule") else {
        return (Starts::Unusable, vec![Finding::required(&field, "")]);
    };
    let Some(schedule) = schedule.as_text() else {
        let message = "Invalid value: must be text, such as \"30 2 * * *\"";
        return (Starts::Unusable, vec![Finding::new(Code::WrongType, field, message)]);
    };
    if let Some(interval) = schedule.strip_prefix(EVERY)
        && go_duration::read(interval).is_some()
    {
        return (Starts::Every(schedule.into()), Vec::new());
    }
    let zone = of_spec("timeZone").and_then(Node::as_text);
    let mut findings = Vec::new();
    let firings = check_firings(schedule, zone, &spec, &mut findings);
    (firings.map_or(Starts::Unusable, Starts::At), findings)
}
