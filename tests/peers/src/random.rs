//! Random cases. Kubernetes and Almanac must agree in every step of each case, so the cases avoid differences that no
//! adjustment can remove.

use fastrand::Rng;

use crate::case::{
    Amount, Case, DEFAULT_DOWN_WINDOW, MAX_PERIOD, MAX_WINDOW, Metric, MetricKind, Policy, Rules,
    Select, Step,
};

/// The case for a number and a seed: the same case in every run.
#[must_use]
pub fn random_case(seed: u64, number: usize) -> Case {
    let mut rng =
        Rng::with_seed(seed.wrapping_add((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    // A quarter of the cases test the recommendations of metrics, the others the effect of recommendations over time.
    if rng.u8(..4) == 0 { formula_case(&mut rng) } else { time_case(&mut rng) }
}

/// A case with several metrics of all kinds, hardly any limits, and few steps.
fn formula_case(rng: &mut Rng) -> Case {
    let metrics: Vec<_> = (0..rng.usize(1..=3)).map(|_| metric(rng)).collect();
    let maximum = rng.u32(500..=5_000);
    let replicas = rng.u32(1..=60);
    let mut steps = Vec::new();
    let mut second = 0;
    for _ in 0..rng.usize(2..=10) {
        let samples = metrics.iter().map(|it| Some(sample(rng, *it, 40))).collect();
        steps.push(Step { second, samples, written: None });
        second += rng.u32(1..=60);
    }
    let at_once = Rules { window: Some(0), ..Rules::default() };
    Case {
        minimum: 1,
        maximum,
        replicas,
        tolerance: tolerance(rng),
        is_behind: rng.bool(),
        query_period: 0,
        unready: 0,
        up: at_once.clone(),
        down: at_once,
        metrics,
        steps,
    }
}

/// A case with one or two metrics, windows, policies, bounds, and many steps.
fn time_case(rng: &mut Rng) -> Case {
    let maximum = *one_of(rng, &[10, 30, 100, 400]);
    let minimum = if rng.bool() { 1 } else { rng.u32(1..=maximum) };
    let has_two = rng.u8(..8) == 0;
    let metrics: Vec<_> = (0..=usize::from(has_two)).map(|_| metric(rng)).collect();
    // Of several recommendations, Kubernetes always takes the largest.
    let up = rules(rng, has_two, 300);
    // A scale-down cannot remove more than all replicas; the result of Kubernetes for such policies is one of the
    // differences.
    let down = rules(rng, has_two, 100);
    let steps = steps(rng, &metrics, &up, &down, minimum, maximum);
    Case {
        minimum,
        maximum,
        replicas: rng.u32(minimum..=maximum),
        tolerance: if rng.u8(..4) == 0 { tolerance(rng) } else { 0 },
        is_behind: rng.u8(..4) == 0,
        query_period: 0,
        unready: 0,
        up,
        down,
        metrics,
        steps,
    }
}

fn metric(rng: &mut Rng) -> Metric {
    // Most metrics have a target for each replica, as usual for schedules.
    if rng.u8(..4) == 0 {
        let target = if rng.bool() { 16 * rng.u32(1..=3_000) } else { *one_of(rng, &LARGE_PRIMES) };
        return Metric { kind: MetricKind::Value, target };
    }
    let target = match rng.u8(..4) {
        0 => 1_000,
        1 => rng.u32(1..=20) * 100,
        2 => rng.u32(1..=50) * 1_000,
        _ => rng.u32(1..=50_000),
    };
    Metric { kind: MetricKind::AverageValue, target }
}

/// Primes above the maximum number of replicas. Replicas multiplied by a fraction with such a denominator are never an
/// integer.
const LARGE_PRIMES: [u32; 3] = [7_919, 10_007, 49_999];

/// A sample of a metric that multiplies the current replicas. The sample is near its target, because the replicas would
/// otherwise grow without limit. Kubernetes multiplies binary fractions: 75 times 1.36 is a little more than 102. That
/// is one of the differences. So the ratio is in sixteenths, which are exact, or the product is not an integer.
fn multiple(rng: &mut Rng, target: u32) -> u32 {
    if target.is_multiple_of(16) {
        target / 16 * rng.u32(5..=29)
    } else {
        target * rng.u32(30..=180) / 100
    }
}

fn one_of<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[rng.usize(..all.len())]
}

fn tolerance(rng: &mut Rng) -> u32 {
    *one_of(rng, &[0, 0, 50, 100, 100, 200])
}

/// A sample of a metric, at up to `most` times its target.
fn sample(rng: &mut Rng, metric: Metric, most: u32) -> u32 {
    let times = match metric.kind {
        MetricKind::Value => return multiple(rng, metric.target),
        MetricKind::AverageValue => rng.u32(0..=most),
    };
    let whole = metric.target * times;
    match rng.u8(..4) {
        0 => whole + 1,
        1 => whole + rng.u32(..metric.target),
        _ => whole,
    }
}

fn rules(rng: &mut Rng, only_largest: bool, most_percent: u32) -> Rules {
    let window = match rng.u8(..6) {
        0 => None,
        1 => Some(0),
        2 => Some(*one_of(rng, &[1, 15, 60, 300, MAX_WINDOW])),
        _ => Some(rng.u32(0..=MAX_WINDOW)),
    };
    let select = match rng.u8(..16) {
        0 => Some(Select::Disabled),
        1..6 => None,
        6..11 => Some(Select::Max),
        _ if only_largest => Some(Select::Max),
        _ => Some(Select::Min),
    };
    let count = *one_of(rng, &[0, 0, 1, 1, 2, 3]);
    let policies = (0..count).map(|_| policy(rng, most_percent)).collect();
    Rules { window, select, policies }
}

fn policy(rng: &mut Rng, most_percent: u32) -> Policy {
    let amount = if rng.bool() {
        let most = if rng.bool() { 5 } else { 50 };
        Amount::Count(rng.u32(1..=most))
    } else {
        Amount::Percent(percent(rng, most_percent))
    };
    let period = if rng.bool() { rng.u32(1..=MAX_PERIOD) } else { *one_of(rng, &[1, 15, 60, 300]) };
    Policy { amount, period }
}

/// A percentage with the same result in Kubernetes and Almanac. Kubernetes calculates with binary fractions: ten
/// percent of fifty are a little more than five. That is one of the differences.
fn percent(rng: &mut Rng, most: u32) -> u32 {
    loop {
        let percent = match rng.u8(..4) {
            0 => 100,
            1 => rng.u32(1..=10),
            2 => rng.u32(100..=most),
            _ => rng.u32(1..=100),
        };
        if (1..=MAX_START).all(|start| is_same_part(start, percent)) {
            return percent;
        }
    }
}

/// The minimum number of replicas at the start of a period of a policy.
const MAX_START: u32 = 2_000;

fn is_same_part(start: u32, percent: u32) -> bool {
    let (whole, part) = (f64::from(start), f64::from(percent) / 100.0);
    let more = start + (start * percent).div_ceil(100);
    let less = start * 100_u32.saturating_sub(percent) / 100;
    let is_near = |one: f64, other: u32| (one - f64::from(other)).abs() < 0.5;
    is_near((whole * (1.0 + part)).ceil(), more)
        && is_near((whole * (1.0 - part)).max(0.0).floor(), less)
}

/// Steps with constant values, sudden jumps, slopes and swings. Many instants are just at, before or after the end of a
/// window or a period.
fn steps(
    rng: &mut Rng,
    metrics: &[Metric],
    up: &Rules,
    down: &Rules,
    minimum: u32,
    maximum: u32,
) -> Vec<Step> {
    let spans: Vec<u32> = [up.window.unwrap_or(0), down.window.unwrap_or(DEFAULT_DOWN_WINDOW)]
        .into_iter()
        .chain(up.policies.iter().chain(&down.policies).map(|policy| policy.period))
        .collect();
    let mut steps: Vec<Step> = Vec::new();
    let mut levels: Vec<u32> = metrics.iter().map(|it| sample(rng, *it, maximum)).collect();
    let mut second = 0;
    let pace = *one_of(rng, &[1, 10, 15, 60]);
    for _ in 0..rng.usize(10..=50) {
        match rng.u8(..8) {
            // A jump, sometimes above what the bounds allow.
            0 | 1 => {
                levels = metrics.iter().map(|it| sample(rng, *it, maximum + maximum / 4)).collect();
            }
            // A slope, or a swing back and forth.
            2 => {
                for (level, metric) in levels.iter_mut().zip(metrics) {
                    *level = match (metric.kind, rng.bool()) {
                        (MetricKind::Value, _) => multiple(rng, metric.target),
                        (_, true) => *level + metric.target,
                        (_, false) => level.saturating_sub(metric.target),
                    };
                }
            }
            _ => {}
        }
        // A metric without a sample, and another field manager that scales.
        let has_none = metrics.len() == 1 && rng.u8(..16) == 0;
        let samples = levels.iter().map(|level| (!has_none).then_some(*level)).collect();
        let written = (rng.u8(..16) == 0).then(|| rng.u32(minimum..=maximum));
        steps.push(Step { second, samples, written });
        second = next_second(rng, second, pace, &spans, &steps);
    }
    steps
}

fn next_second(rng: &mut Rng, now: u32, pace: u32, spans: &[u32], steps: &[Step]) -> u32 {
    let regular = now + pace;
    match rng.u8(..4) {
        0 => {
            let earlier = one_of(rng, steps).second;
            let end = earlier + one_of(rng, spans) + rng.u32(0..=2);
            end.checked_sub(1).filter(|second| *second > now).unwrap_or(regular)
        }
        1 => {
            let most = if rng.u8(..4) == 0 { MAX_WINDOW } else { 30 };
            now + rng.u32(1..=most)
        }
        _ => regular,
    }
}
