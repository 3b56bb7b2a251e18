//! The next actions in a whole cluster, a line each, for `almanac up`. The caller chooses the period and the
//! lines to print.

use std::path::PathBuf;

use almanac_api::policy_clock::PolicyClock;
use almanac_calendar::Zone;
use almanac_engine::Identity;
use almanac_forecast::Period;
use jiff::Timestamp;
use serde_json::Value;

use super::json::values;
use super::{NextEntry, Question};
use crate::cluster::ClusterArguments;
use crate::cron_jobs::STARTS;
use crate::files::FileArguments;
use crate::input_arguments::{InputArguments, Narrowing};
use crate::invisible::printable;

/// The first `count` actions of a period in the cluster of a kubeconfig, whose policies follow this clock. Reading the
/// cluster blocks the thread.
pub(crate) fn for_cluster(
    kubeconfig: PathBuf,
    clock: PolicyClock,
    period: Period,
    count: usize,
) -> anyhow::Result<Vec<(Timestamp, String)>> {
    let cluster = ClusterArguments::whole(kubeconfig, clock);
    let narrowing = Narrowing { namespace: None, selector: None };
    let read = InputArguments::from_source(FileArguments::default(), narrowing, cluster);
    let (now, zone) = (crate::wall_clock::present(), Zone::utc());
    let input = read.load("next", period.from(), now, &[], Some(zone))?;
    let question = Question { input: &input, zone, period, count, only: &[] };
    let lines = question.events().map(|(_, it)| (it.at(), printable(&line(&it))));
    Ok(lines.collect())
}

/// `Deployment shop/web → 8: CronFederatedHPA shop/web busy fires`. The line omits the previous value, which is the
/// current value.
fn line(entry: &NextEntry<'_>) -> String {
    let event = match entry {
        NextEntry::Event(event) => event,
        NextEntry::Start(job, _) => return format!("{} {STARTS}", named(&job.identity)),
    };
    let (policy, target) = (&event.policy.identity, &event.target);
    let rule = event.rule.as_ref().map(|rule| format!(" {rule}")).unwrap_or_default();
    let action = format!("{rule} {}", event.what.name());
    match values(entry) {
        (Value::Null, Value::Null) => format!("{}{action}", named(policy)),
        (_, to) if policy == target => {
            format!("{} → {}:{action}", named(target), format_value(&to))
        }
        (_, to) => format!("{} → {}: {}{action}", named(target), format_value(&to), named(policy)),
    }
}

fn named(object: &Identity) -> String {
    format!("{} {}/{}", object.kind(), object.namespace(), object.name())
}

/// A value in readable form: `3`, `a, b`, `minReplicas 3`.
fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(format_value).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| format!("{name} {}", format_value(value)));
            fields.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use almanac_engine::{Family, Field, Occurrence, PolicyName, Value as FieldValue};
    use almanac_forecast::Event;

    use super::*;

    #[test]
    fn each_next_event_is_one_line() {
        let policy = Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "shop", "web");
        let busy = |family, target: &Identity, what, sets| {
            line(&NextEntry::Event(Event {
                at: Timestamp::UNIX_EPOCH,
                policy: PolicyName::new(family, policy.clone()),
                rule: Some("busy".into()),
                target: target.clone(),
                what,
                sets,
            }))
        };
        let from_to =
            |field, from, to| vec![(field, Some(FieldValue::Number(from)), FieldValue::Number(to))];
        let target = Identity::new("apps", "Deployment", "shop", "web");
        let to_8 = from_to(Field::Replicas, 3, 8);
        assert_eq!(
            busy(Family::CronScaling, &target, Occurrence::Fires, to_8),
            "Deployment shop/web → 8: CronFederatedHPA shop/web busy fires"
        );
        let to_4 = from_to(Field::Value, 1, 4);
        assert_eq!(
            busy(Family::ScheduledCapacity, &policy, Occurrence::Opens, to_4),
            "CronFederatedHPA shop/web → 4: busy opens"
        );
        assert_eq!(
            busy(Family::ScheduledCapacity, &policy, Occurrence::Opens, Vec::new()),
            "CronFederatedHPA shop/web busy opens"
        );
    }
}
