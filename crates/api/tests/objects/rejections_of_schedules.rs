//! Schedules and autoscalers: every error and warning, with a valid case and an invalid case.

use crate::written::{autoscaler, fails, fails_like, fails_only, passes, producer};

#[test]
fn a_schedule_has_one_name_and_a_zone_and_counts_of_zero_or_more() {
    let good =
        "{defaultReplicas: 0, behaviors: [{replicas: 0, start: {hours: 9}, end: {hours: 17}}]}";
    passes(&producer(good));
    passes(&producer(good).replace("schedule:", "scheduleSpec:"));
    passes(&producer("{defaultReplicas: 2147483647, behaviors: []}"));
    fails(
        &(producer(good) + &format!("  scheduleSpec: {good}\n")),
        &["two-schedules spec.scheduleSpec: Forbidden: schedule and scheduleSpec are two names \
             for the same field"],
    );
    fails(
        &producer(
            "{defaultReplicas: -1, behaviors: [{replicas: -2, start: {hours: 9}, end: {hours: 17}}]}",
        ),
        &[
            "out-of-range spec.schedule.defaultReplicas: Invalid value: -1: must be greater than or equal to 0",
            "out-of-range spec.schedule.behaviors[0].replicas: Invalid value: -2: must be greater than or equal to 0",
        ],
    );
    fails_like(
        &producer("{timezone: Europe/Berln, defaultReplicas: 1, behaviors: []}"),
        "time-zone spec.schedule.timezone: Invalid value: \"Europe/Berln\": ",
    );
}

#[test]
fn patterns_fire_and_windows_have_a_length() {
    let behavior = |start: &str, end: &str| {
        producer(&format!(
            "{{defaultReplicas: 1, behaviors: [{{replicas: 2, start: {start}, end: {end}}}]}}"
        ))
    };
    passes(&behavior("{hours: 9, weekdays: 'Mon, tue,3'}", "{hours: '17', minutes: 30}"));
    let same = "window spec.schedule.behaviors[0]: Invalid value: start and end are always the same \
                instant, so the window has no length; write an end that differs from the start";
    fails(&behavior("{hours: 9}", "{hours: 9}"), &[same]);
    fails(&behavior("{}", "{}"), &[same]);
    for (start, begins) in [
        ("{days: 31, months: Feb}", "pattern spec.schedule.behaviors[0].start: Invalid value: "),
        (
            "{hours: 24}",
            "pattern spec.schedule.behaviors[0].start.hours: Invalid value: \"24\": hours run from 0 to 23, not 24",
        ),
        (
            "{weekdays: Mon-Fri}",
            "pattern spec.schedule.behaviors[0].start.weekdays: Invalid value: \"Mon-Fri\": ",
        ),
        (
            "{minutes: '*/5'}",
            "pattern spec.schedule.behaviors[0].start.minutes: Invalid value: \"*/5\": ",
        ),
    ] {
        fails_like(&behavior(start, "{hours: 17}"), begins);
    }
}

#[test]
fn other_sources_of_a_metric_are_accepted_with_a_warning() {
    let other = |spec: &str| {
        format!(
            "apiVersion: autoscaling.karpenter.sh/v1alpha1\nkind: MetricsProducer\nmetadata: {{name: a}}\nspec: {spec}\n"
        )
    };
    fails(
        &other("{queue: {type: AWSSQSQueue, id: q}}"),
        &["unsupported spec.queue: Forbidden: only schedules are supported; this object will \
             not become active"],
    );
    fails(
        &other("{}"),
        &["missing-field spec.schedule: Required value: a schedule, with at least one behavior"],
    );
}

#[test]
fn the_bounds_and_the_metrics_of_an_autoscaler_are_in_order() {
    let metric = |kind: &str, value: &str| {
        autoscaler(&format!(
            "minReplicas: 0, maxReplicas: 3, metrics: [{{prometheus: {{query: x, target: {{type: {kind}, value: {value}}}}}}}]"
        ))
    };
    for (kind, value) in [("Value", "1"), ("AverageValue", "500m"), ("Utilization", "60")] {
        passes(&metric(kind, value));
    }
    fails(
        &autoscaler("minReplicas: 4, maxReplicas: 3"),
        &["crossed-bounds spec.minReplicas: Invalid value: 4: must not exceed maxReplicas, \
             which is 3"],
    );
    fails_only(
        &metric("Average", "1"),
        "unsupported-value spec.metrics[0].prometheus.target.type: Unsupported value: \"Average\": supported values: \"Value\", \"AverageValue\", \"Utilization\"",
    );
    fails_only(
        &metric("Value", "0"),
        "out-of-range spec.metrics[0].prometheus.target.value: Invalid value: \"0\": must be a quantity greater than 0, such as 10 or 500m",
    );
    fails(
        &autoscaler(
            "minReplicas: 1, maxReplicas: 3, behavior: {scaleUp: {stabilizationWindowSeconds: 3601, policies: [{type: Percent, value: 0, periodSeconds: 1801}]}}",
        ),
        &[
            "out-of-range spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
            "out-of-range spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than or equal to 1",
            "out-of-range spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800",
        ],
    );
}

#[test]
fn the_bounds_of_a_federated_autoscaler_are_in_order() {
    let federated = |bounds: &str| {
        format!(
            "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: FederatedHPA\nmetadata: {{name: a}}\nspec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop}}, {bounds}}}\n"
        )
    };
    passes(&federated("minReplicas: 1, maxReplicas: 1"));
    passes(&federated(
        "maxReplicas: 1, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]",
    ));
    fails(
        &federated("minReplicas: 2, maxReplicas: 1"),
        &["crossed-bounds spec.minReplicas: Invalid value: 2: must not exceed maxReplicas, \
             which is 1"],
    );
    fails(&federated("minReplicas: 2"), &["missing-field spec.maxReplicas: Required value"]);
}

#[test]
fn object_names_must_be_valid() {
    let named = |name: &str| producer("{defaultReplicas: 1, behaviors: []}").replace("night", name);
    passes(&named("a.b-c.0"));
    fails(
        &named("''"),
        &["missing-field metadata.name: Required value: every object needs a name"],
    );
    for name in ["Night", "-night", "night_shift"] {
        fails_like(&named(name), "invalid-name metadata.name: Invalid value: ");
    }
}
