//! Worlds, built in a line or two.

use std::sync::Arc;

use almanac_calendar::Zone;
use almanac_engine::cron_scaling::{CronRule, CronScaling, Memory};
use almanac_engine::scheduled_capacity::{Behavior, ScheduledCapacity};
use almanac_engine::{Autoscaler, Field, PolicyObject, Target, Workload, World};
use almanac_fixtures::rules;
use almanac_forecast::{AssumedValues, Forecast, Period, Series};

pub(crate) use almanac_fixtures::at;
pub(crate) use almanac_fixtures::names::{
    cron_federated_hpa as cron_policy, deployment, horizontal_pod_autoscaler as autoscaler,
    metrics_producer as schedule, workload as to_workload,
};
pub(crate) use almanac_fixtures::schedules::behavior;

pub(crate) fn period(from: &str, to: &str) -> Period {
    Period::new(at(from), at(to)).unwrap()
}

/// Monday, 2 March 2026, in UTC.
pub(crate) fn monday() -> Period {
    period("2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z")
}

/// A rule that sets replicas of a workload, in UTC.
pub(crate) fn rule(name: &str, cron: &str, replicas: u32) -> CronRule {
    rules::rule(name, cron, replicas).delay(30).checked(0, &to_workload("shop"))
}

/// A rule that sets bounds of an autoscaler, in UTC.
pub(crate) fn bounds(name: &str, cron: &str, min: Option<u32>, max: Option<u32>) -> CronRule {
    rules::bounds(name, cron, min, max).delay(30).checked(0, &to_autoscaler("shop"))
}

pub(crate) fn in_zone(mut rule: CronRule, zone: &str) -> CronRule {
    rule.firings = rule.firings.cron().clone().in_zone(Zone::named(zone).unwrap());
    rule
}

pub(crate) fn suspended(mut rule: CronRule) -> CronRule {
    rule.suspended = true;
    rule
}

/// A behavior between two times of every day, in UTC; hours as in `"9"`.
pub(crate) fn daily(start: &str, end: &str, value: u32, priority: i32) -> Behavior {
    let hour = |hour| format!("hours={hour}");
    behavior("UTC", &hour(start), &hour(end), value, priority)
}

/// Builds a world.
#[derive(Default)]
pub(crate) struct Building(World);

impl Building {
    pub(crate) fn workload(mut self, name: &str, replicas: u32) -> Building {
        self.0
            .objects
            .workloads
            .insert(deployment(name), Workload { replicas: Some(replicas), ..Workload::default() });
        self
    }

    pub(crate) fn autoscaler(mut self, name: &str, min: u32, max: u32) -> Building {
        let bounds = Autoscaler { min_replicas: Some(min), max_replicas: Some(max) };
        self.0.objects.autoscalers.insert(autoscaler(name), bounds);
        self
    }

    pub(crate) fn scaling(mut self, name: &str, target: Target, rules: Vec<CronRule>) -> Building {
        let rules = (0..).zip(rules).map(|(position, rule)| CronRule { position, ..rule });
        let policy = CronScaling {
            target,
            target_version: Arc::from("v1"),
            rules: rules.collect(),
            unusable_rules: Box::default(),
        };
        self.0.cron_scaling.policies.insert(cron_policy(name).identity, PolicyObject::new(policy));
        self
    }

    /// Sets the status and the creation time of an object of cron rules.
    pub(crate) fn with_status(
        mut self,
        name: &str,
        created: Option<&str>,
        memory: Option<Memory>,
    ) -> Building {
        let object = self.0.cron_scaling.policies.get_mut(&cron_policy(name).identity).unwrap();
        (object.created, object.memory) = (created.map(at), memory);
        self
    }

    /// Marks the world as observed, like a cluster.
    pub(crate) fn seen_at(mut self, text: &str) -> Building {
        self.0.objects.seen_at = Some(at(text));
        self
    }

    pub(crate) fn schedule(
        mut self,
        name: &str,
        default_value: u32,
        behaviors: Vec<Behavior>,
    ) -> Building {
        let policy =
            ScheduledCapacity { zone: Zone::utc(), default_value, behaviors: behaviors.into() };
        self.0
            .scheduled_capacity
            .policies
            .insert(schedule(name).identity, PolicyObject::new(policy));
        self
    }

    pub(crate) fn world(self) -> World {
        self.0
    }
}

pub(crate) fn to_autoscaler(name: &str) -> Target {
    Target::Autoscaler(autoscaler(name))
}

/// All series of a forecast.
pub(crate) fn all_series(world: &World, period: Period) -> Vec<Series> {
    let forecast = Forecast::new(world, period, AssumedValues::new());
    forecast.parts().flat_map(|part| part.series).collect()
}

/// The only series of a field.
pub(crate) fn series(world: &World, period: Period, field: Field) -> Series {
    let mut series = all_series(world, period);
    series.retain(|series| series.field == field);
    assert_eq!(series.len(), 1, "series of {field}");
    series.remove(0)
}

/// A series as text: `Thu 00:00 2 (as given), Thu 08:00 10 by shop/open`.
pub(crate) fn segment_lines(series: &Series) -> Vec<String> {
    let describe = |segment: &almanac_forecast::Segment| {
        let civil = Zone::utc().civil(segment.from);
        let value = segment.value.as_ref().map_or("?".to_owned(), ToString::to_string);
        let by = match &segment.origin.writer {
            None => "nobody".to_owned(),
            Some(writer) => {
                let rule = writer.rule.as_deref().unwrap_or("default");
                format!("{}/{rule}", writer.policy.identity.name())
            }
        };
        format!("{:02} {:02}:{:02} {value} {by}", civil.day(), civil.hour(), civil.minute())
    };
    series.segments.iter().map(describe).collect()
}
