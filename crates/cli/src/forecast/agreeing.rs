//! Draws pods that always agree as one: thousands of pods may follow a few policies.

use std::collections::BTreeMap;

use almanac_engine::{Field, RuleSchedule, World};
use almanac_forecast::{Overlap, Series, Writer};

/// Labels that commonly distinguish groups of pods.
const DISTINGUISHING_LABELS: [&str; 6] = [
    "app.kubernetes.io/name",
    "app",
    "k8s-app",
    "volcano.sh/job-name",
    "batch.kubernetes.io/job-name",
    "job-name",
];

/// Equal series, drawn as one.
pub(super) struct Drawn<'a> {
    /// The object of the series, or the number of pods.
    pub(super) title: String,
    /// The field over time, the same for each object.
    pub(super) series: &'a Series,
    /// The indexes of the series that are drawn as one; `series` is the first of them.
    pub(super) positions: Vec<usize>,
    /// The periods in which other rules request a value and lose, in order.
    pub(super) overlaps: Vec<Overlap>,
    /// The writers that decide while none of their windows is open.
    pub(super) idle: Vec<Writer>,
}

#[cfg(test)]
impl<'a> Drawn<'a> {
    /// Draws a single series.
    pub(super) fn for_series(series: &'a Series) -> Drawn<'a> {
        Drawn {
            title: series.target.to_string(),
            series,
            positions: vec![0],
            overlaps: Vec::new(),
            idle: Vec::new(),
        }
    }
}

/// The pods of a namespace with the same label.
type Pods = (Box<str>, Option<(&'static str, Box<str>)>);

/// The series to draw, in the order of the first series of each. `overlaps` takes the index of a series.
pub(super) fn drawn<'a>(
    world: &World,
    series: &'a [Series],
    overlaps: impl Fn(usize) -> Vec<Overlap>,
) -> Vec<Drawn<'a>> {
    let mut groups: Vec<(&Series, Option<Pods>, Vec<usize>)> = Vec::new();
    // The groups of agreeing pods, by their labels.
    let mut of_pods: BTreeMap<Pods, Vec<usize>> = BTreeMap::new();
    for (position, one) in series.iter().enumerate() {
        let Some(pods) = pods(world, one) else {
            groups.push((one, None, vec![position]));
            continue;
        };
        let known = of_pods.entry(pods.clone()).or_default();
        if let Some(group) = known.iter().find(|group| agree(groups[**group].0, one)) {
            groups[*group].2.push(position);
        } else {
            known.push(groups.len());
            groups.push((one, Some(pods), vec![position]));
        }
    }
    let drawn = |(series, pods, positions): (&'a Series, Option<Pods>, Vec<usize>)| {
        let count = positions.len();
        let title = match pods {
            Some((namespace, label)) if count > 1 => {
                let suffix =
                    label.map_or(String::new(), |(key, value)| format!(" of {key}={value}"));
                format!("{count} pods{suffix} in {namespace}")
            }
            _ => series.target.to_string(),
        };
        let overlaps = positions.first().map(|it| overlaps(*it)).unwrap_or_default();
        Drawn { title, series, positions, overlaps, idle: idle(world, series) }
    };
    groups.into_iter().map(drawn).collect()
}

/// The writers with windows that set a value without a rule while no window is open.
fn idle(world: &World, series: &Series) -> Vec<Writer> {
    let mut idle: Vec<Writer> = Vec::new();
    for writer in series.segments.iter().filter_map(|it| it.origin.writer.as_ref()) {
        if writer.rule.is_none()
            && !idle.contains(writer)
            && world.schedules(&writer.policy).iter().any(RuleSchedule::has_windows)
        {
            idle.push(writer.clone());
        }
    }
    idle
}

fn pods(world: &World, series: &Series) -> Option<Pods> {
    let pod = world.objects.pods.get(&series.target)?;
    if series.field != Field::QosLevel || pod.is_template {
        return None;
    }
    let label =
        DISTINGUISHING_LABELS.iter().find_map(|key| Some((*key, pod.labels.get(key)?.into())));
    Some((series.target.namespace().into(), label))
}

/// Whether two series always have the same value for the same reason.
fn agree(one: &Series, other: &Series) -> bool {
    one.segments.len() == other.segments.len()
        && one.segments.iter().zip(&other.segments).all(|(one, other)| {
            let writers = (&one.origin.writer, &other.origin.writer);
            (one.from, one.to, &one.value) == (other.from, other.to, &other.value)
                && writers.0 == writers.1
        })
}
