//! Random worlds of all families. A small world makes a disagreement easy to read.

use std::sync::Arc;

use almanac_engine::metric_scaling::{FiniteNumber, ScalingRules, Select, TargetType};
use almanac_engine::placement::PrioritizerMode;
use almanac_engine::qos_levels::QosLevels;
use almanac_engine::units::{self, ResourcePolicy, Strategy as OfNodes, Unit, UnitObject};
use almanac_engine::{Identity, PolicyObject, Slim, Workload, World};
use almanac_fixtures::{at, autoscalers, levels, names, placements, rules, schedules};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

pub(super) const CLUSTERS: [&str; 3] = ["east", "north", "west"];
pub(super) const PODS: [&str; 2] = ["a", "b"];

/// The firing of a rule: at a half hour, every day or on one day of the week, from Monday as 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Firing {
    pub(super) half_hour: u32,
    pub(super) weekday: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Scaler {
    pub(super) deployment: usize,
    /// The schedule that the autoscaler reads, or the result of its query.
    pub(super) answer: Result<usize, u32>,
    pub(super) kind: TargetType,
    /// A value in thousandths.
    pub(super) target: u32,
    /// The lower bound, and the distance of the upper bound from it.
    pub(super) bounds: (u32, u32),
    pub(super) up_window: u32,
    pub(super) down_window: u32,
    pub(super) up_in_a_minute: Option<u32>,
    /// The age at the start, in minutes.
    pub(super) created: Option<i64>,
}

/// A level or a number that applies from one hour to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) value: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cluster {
    pub(super) score: u32,
    /// Minutes after the start.
    pub(super) valid_until: Option<i64>,
    /// Whether the effect is `NoSelectIfNew`, and when the taint was added, in minutes after the start.
    pub(super) taint: Option<(bool, i64)>,
}

#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) clusters: Option<u32>,
    pub(super) scores: Vec<(usize, i64)>,
    pub(super) tolerates: Option<i64>,
    pub(super) decided: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    /// Minutes after the first Monday.
    pub(super) from: i64,
    pub(super) deployments: [u32; 2],
    /// Cron policies: the Deployment, and the firing and the value of each rule.
    pub(super) crons: Vec<(usize, Vec<(Firing, u32)>)>,
    /// Schedules: the default, and the windows with their priorities.
    pub(super) schedules: Vec<(u32, Vec<(Window, i32)>)>,
    pub(super) scalers: Vec<Scaler>,
    /// The pods of each policy by their number; 2 stands for all pods.
    pub(super) levels: Vec<(Window, usize)>,
    pub(super) clusters: Vec<Cluster>,
    pub(super) selections: Vec<Selection>,
    /// The caps of two units.
    pub(super) units: Option<(u32, u32)>,
}

pub(super) fn cases() -> impl Strategy<Value = Case> {
    let firing = (0..48_u32, prop::option::weighted(0.3, 0..7_u32))
        .prop_map(|(half_hour, weekday)| Firing { half_hour, weekday });
    let of_cron = prop::collection::vec((firing, 0..6_u32), 0..4);
    let window = |most: u32| {
        (0..24_u32, 1..24_u32, 0..most).prop_map(|(start, hours, value)| {
            let end = (start + hours) % 24;
            Window { start, end, value }
        })
    };
    let schedule = (0..9_u32, prop::collection::vec((window(9), 0..2), 0..4));
    let minutes = prop_oneof![0..10_080_i64, (0..168_i64).prop_map(|hours| hours * 60)];
    let policies = (
        prop::collection::vec((0..2_usize, of_cron), 0..3),
        prop::collection::vec(schedule, 0..3),
        prop::collection::vec(scaler(), 0..3),
        prop::collection::vec((window(4), 0..3_usize), 0..4),
        prop::collection::vec(selection(), 0..3),
    );
    let others = (
        minutes,
        (0..9_u32, 0..9_u32),
        prop::collection::vec(cluster(), 0..=3),
        prop::option::weighted(0.3, (0..4_u32, 0..4_u32)),
    );
    (policies, others).prop_map(|((crons, schedules, scalers, levels, selections), others)| {
        let (from, deployments, clusters, units) = others;
        let deployments = deployments.into();
        Case { from, deployments, crons, schedules, scalers, levels, clusters, selections, units }
    })
}

fn scaler() -> impl Strategy<Value = Scaler> {
    let kind = prop::sample::select(vec![
        TargetType::Value,
        TargetType::AverageValue,
        TargetType::Utilization,
    ]);
    let windows = || prop::sample::select(vec![0_u32, 60, 300]);
    let limits = (windows(), windows(), prop::option::of(1..5_u32));
    let answer = prop_oneof![(0..3_usize).prop_map(Ok), (0..20_u32).prop_map(Err)];
    let target = prop::sample::select(vec![500_u32, 1000, 3000, 10_000]);
    let bounds = (0..3_u32, 0..12_u32);
    let created = prop::option::weighted(0.3, 0..10_i64);
    (0..2_usize, answer, kind, target, bounds, limits, created).prop_map(
        |(deployment, answer, kind, target, bounds, limits, created)| {
            let (up_window, down_window, up_in_a_minute) = limits;
            Scaler {
                deployment,
                answer,
                kind,
                target,
                bounds,
                up_window,
                down_window,
                up_in_a_minute,
                created,
            }
        },
    )
}

fn cluster() -> impl Strategy<Value = Cluster> {
    let minutes = || prop_oneof![Just(0_i64), -60..2880_i64];
    let taint = (any::<bool>(), -2880..1_i64);
    (0..100_u32, prop::option::of(minutes()), prop::option::weighted(0.3, taint))
        .prop_map(|(score, valid_until, taint)| Cluster { score, valid_until, taint })
}

fn selection() -> impl Strategy<Value = Selection> {
    let scores = prop::collection::vec((0..3_usize, 1..3_i64), 0..3);
    let tolerates = prop::option::of(0..180_000_i64);
    (prop::option::of(1..3_u32), scores, tolerates, prop::option::of(0..3_usize)).prop_map(
        |(clusters, scores, tolerates, decided)| Selection { clusters, scores, tolerates, decided },
    )
}

impl Firing {
    /// The cron expression.
    fn text(self) -> String {
        let (hour, minute) = (self.half_hour / 2, self.half_hour % 2 * 30);
        // Cron counts from Sunday.
        let weekday = self.weekday.map_or("*".to_owned(), |it| ((it + 1) % 7).to_string());
        format!("{minute} {hour} * * {weekday}")
    }

    /// Whether the rule fires at this minute after the first Monday.
    pub(super) fn is_at(self, minute: i64) -> bool {
        let is_day = |day: u32| minute.div_euclid(1440).rem_euclid(7) == i64::from(day);
        minute.rem_euclid(1440) == i64::from(self.half_hour) * 30 && self.weekday.is_none_or(is_day)
    }
}

/// The instant at a number of minutes after the first Monday.
pub(super) fn instant(minute: i64) -> Timestamp {
    at("2026-03-02T00:00:00Z") + SignedDuration::from_mins(minute)
}

/// The name of a Deployment by its number.
pub(super) fn deployment(number: usize) -> Identity {
    names::deployment(&format!("d{number}"))
}

impl Case {
    pub(super) fn from(&self) -> Timestamp {
        instant(self.from)
    }

    /// The world, as files describe it.
    pub(super) fn world(&self) -> World {
        let mut world = placements::hub();
        for (number, replicas) in self.deployments.iter().enumerate() {
            let workload = Workload { replicas: Some(*replicas), current: None };
            world.upsert(deployment(number), Slim::Workload(workload));
        }
        for (number, (of, firings)) in self.crons.iter().enumerate() {
            let rule = |(index, (firing, replicas)): (usize, &(Firing, u32))| {
                rules::rule(&format!("r{index}"), &firing.text(), *replicas)
            };
            let written: Vec<_> = firings.iter().enumerate().map(rule).collect();
            let checked = rules::checked(names::workload(&format!("d{of}")), &written, &[]);
            let name = names::cron_federated_hpa(&format!("c{number}"));
            world.upsert(name.identity, Slim::CronScaling(PolicyObject::new(checked)));
        }
        for (number, (default, windows)) in self.schedules.iter().enumerate() {
            let mut schedule = schedules::Schedule::utc(*default);
            for (Window { start, end, value }, priority) in windows {
                let [start, end] = [start, end].map(|hour| format!("hours={hour}"));
                schedule = schedule.with_priority(*priority, *value, &start, &end);
            }
            let object = Slim::ScheduledCapacity(PolicyObject::new(schedule.checked()));
            world.upsert(names::metrics_producer(&format!("s{number}")).identity, object);
        }
        for (number, scaler) in self.scalers.iter().enumerate() {
            scaler.add(number, self.from(), &mut world);
        }
        self.add_levels(&mut world);
        self.add_hub(&mut world);
        self.add_units(&mut world);
        world
    }

    fn add_levels(&self, world: &mut World) {
        if self.levels.is_empty() {
            return;
        }
        for label in PODS {
            let pod = levels::pod(&format!("app={label}"), None);
            world.upsert(levels::pod_name(label), Slim::Pod(pod));
        }
        let policy = |(number, (window, pods)): (usize, &(Window, usize))| {
            let [start, end] = [window.start, window.end].map(|hour| format!("{hour:02}:00"));
            let selector = PODS.get(*pods).map_or(String::new(), |label| format!("app={label}"));
            let level = i64::from(window.value) - 1;
            levels::level_policy(&format!("l{number}"), &start, &end, &selector, level)
        };
        let all: QosLevels = levels::levels(self.levels.iter().enumerate().map(policy));
        world.upsert(
            levels::config_map("volcano-agent-configuration").identity,
            Slim::QosLevels(PolicyObject::new(all)),
        );
    }

    fn add_hub(&self, world: &mut World) {
        for (name, Cluster { score, valid_until, taint }) in CLUSTERS.iter().zip(&self.clusters) {
            let mut cluster = placements::cluster("");
            let taint = taint.map(|(is_of_new, added)| {
                let effect = if is_of_new { "NoSelectIfNew" } else { "NoSelect" };
                placements::taint(&format!("t:{effect}"), Some(instant(self.from + added)))
            });
            cluster.taints = taint.into_iter().collect();
            placements::add_cluster(world, name, cluster);
            let until = valid_until.map(|it| instant(self.from + it));
            let scores = placements::scores(&[("cpu", i64::from(*score))], until);
            placements::add_scores(world, name, "default", scores);
        }
        // A selection from no clusters is unknown if only files are read, and empty on a hub.
        let selections: &[Selection] =
            if self.clusters.is_empty() { &[][..] } else { &self.selections };
        for (number, selection) in selections.iter().enumerate() {
            let name = format!("p{number}");
            let sources = ["Balance", "Steady", "default/cpu"];
            let mut seen = [false; 3];
            let mut scores: Vec<(&str, i64)> = Vec::new();
            for (source, weight) in &selection.scores {
                if !std::mem::replace(&mut seen[*source], true) {
                    scores.push((sources[*source], *weight));
                }
            }
            let mut placement =
                placements::placement(selection.clusters, PrioritizerMode::Exact, &scores);
            let toleration = selection.tolerates.map(|it| placements::toleration("t", Some(it)));
            placement.tolerations = toleration.into_iter().collect();
            placements::add_placement(world, &name, placement);
            let there = &CLUSTERS[..self.clusters.len()];
            if let Some(cluster) = selection.decided.and_then(|it| there.get(it)) {
                let decision = placements::decision(&name, &[cluster]);
                placements::add_decision(world, &format!("{name}-decision-1"), decision);
            }
        }
    }

    fn add_units(&self, world: &mut World) {
        let Some((first, second)) = self.units else { return };
        let unit = |name: &str, priority, max| Unit {
            name: name.into(),
            priority,
            max: Some(max),
            nodes: levels::label_selector(&format!("pool={name}")),
        };
        let policy = ResourcePolicy {
            pod_selector: levels::label_selector("units=yes"),
            group_keys: Box::default(),
            ignores_terminating: false,
            strategy: OfNodes::Required,
            units: [unit("x", 2, first), unit("y", 1, second)].into(),
        };
        world.upsert(names::resource_policy("u").identity, Slim::Units(PolicyObject::new(policy)));
        for pool in ["x", "y"] {
            let labels = levels::labels(&format!("pool={pool}"));
            let node = units::Node { labels, ..units::Node::default() };
            world.upsert(
                Identity::new("", "Node", "", pool),
                Slim::UnitObject(UnitObject::Node(node)),
            );
        }
        for number in 0..self.deployments.len() {
            let labels = levels::labels("units=yes");
            let made = Box::new(units::Pod { labels, ..units::Pod::default() });
            world.upsert(deployment(number), Slim::UnitObject(UnitObject::Template(made)));
        }
    }
}

impl Scaler {
    fn add(&self, number: usize, from: Timestamp, world: &mut World) {
        let (min, more) = self.bounds;
        let query = match self.answer {
            Ok(schedule) => autoscalers::scheduled(&format!("s{schedule}")),
            Err(_) => autoscalers::external(&format!("q{number}")),
        };
        let policies =
            self.up_in_a_minute.into_iter().map(|count| autoscalers::count_in(count, 60)).collect();
        let (window_seconds, select) = (self.up_window, Select::Max);
        let up = ScalingRules { window_seconds, select, policies };
        let down =
            ScalingRules { window_seconds: self.down_window, select, policies: Box::default() };
        let autoscaler = autoscalers::Autoscaler::for_deployment(
            &format!("d{}", self.deployment),
            min,
            min + more,
        );
        let checked = autoscaler.with(query, self.kind, self.target).up(up).down(down).checked();
        let created = self.created.map(|minutes| from - SignedDuration::from_mins(minutes));
        let object = PolicyObject { created, ..PolicyObject::new(checked) };
        let name = names::horizontal_autoscaler(&format!("h{number}")).identity;
        world.upsert(name, Slim::MetricScaling(object));
        if let Err(sample) = self.answer {
            let answer = Ok(FiniteNumber::new(f64::from(sample)).unwrap());
            let text: Arc<str> = format!("q{number}").into();
            almanac_engine::metric_scaling::answer(
                &mut world.metric_scaling,
                |asked| *asked == *text,
                &answer,
            );
        }
    }
}
