//! What shows when policies are run: each doubt of a forecast as a finding, with a code and where it is written.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::thread;

use almanac_api::checking::{field_of_rule, placed};
use almanac_api::exempt::EXEMPT_NAMESPACES;
use almanac_api::finding::{Code, FieldPath, Finding, Path};
use almanac_api::objects::CONFIG_NAMESPACE;
use almanac_api::reading::PlacedFinding;
use almanac_engine::qos_levels::{AgentSettings, LevelFormat};
use almanac_engine::{Family, Identity, PolicyName};
use almanac_forecast::{About, Doubt, Forecast, Period, standing_doubts};
use jiff::SignedDuration;

use crate::files::Targets;
use crate::findings::Checked;
use crate::forecast::in_order::in_order;
use crate::forecast::progress::Progress;
use crate::input::{InputPlace, places_of};

/// Policies are run for a year, and the same day of the next.
const YEAR: SignedDuration = SignedDuration::from_hours(24 * 366);

/// Runs what was checked. Afterwards, of each object only its findings are left.
pub(super) fn findings(checked: &mut Checked) -> anyhow::Result<Vec<PlacedFinding>> {
    let objects = std::mem::take(&mut checked.everything.objects);
    let (reading, everything) = (&checked.files.reading, &checked.everything);
    let mut places =
        places_of(reading, objects, &everything.places, &checked.namespace, &Targets::new());
    let exempt = EXEMPT_NAMESPACES.map(str::to_owned);
    for place in &mut places {
        place.exempt(&exempt);
        place.run_agent(AgentSettings {
            config_namespace: Some(CONFIG_NAMESPACE.into()),
            level_format: LevelFormat::Number,
        });
    }
    let to = checked.from.saturating_add(YEAR)?;
    let Some(period) = Period::new(checked.from, to) else { return Ok(Vec::new()) };
    // What is found in every place is told once, and what is found in some of them with the first.
    let mut found: Vec<(usize, Finding, Vec<usize>)> = Vec::new();
    for place in &places {
        for doubt in doubts(place, period)? {
            let Some((index, finding)) = finding(place, &doubt) else { continue };
            match found.iter_mut().find(|(of, known, _)| *of == index && *known == finding) {
                Some((_, _, numbers)) => numbers.push(place.number),
                None => found.push((index, finding, vec![place.number])),
            }
        }
    }
    // Of rules that meet in one minute it is told already which wins.
    let meet = |it: &PlacedFinding| it.object.filter(|_| it.finding.code == Code::SameMinute);
    let meeting: BTreeSet<usize> = everything.findings.iter().filter_map(meet).collect();
    found.retain(|(index, it, _)| it.code != Code::NeverWins || !meeting.contains(index));
    let of_pods: Vec<usize> = found
        .iter()
        .filter(|(_, finding, _)| finding.code == Code::UnitsTooSmall)
        .map(|(index, ..)| *index)
        .collect();
    let tell = |(index, finding, numbers): (usize, Finding, Vec<usize>)| {
        let place = numbers.first().copied().filter(|_| numbers.len() < places.len());
        PlacedFinding { place, ..placed(reading, index, finding) }
    };
    let told = found.into_iter().map(tell).collect();
    // What a run shows has the instant and the numbers; what the fields say of the same has not.
    checked.everything.findings.retain(|it| {
        let is_shown = it.object.is_some_and(|object| of_pods.contains(&object));
        it.finding.code != Code::UnitsTooSmall || !is_shown
    });
    Ok(told)
}

/// The doubts of one place, in the order of its policies and of its islands.
fn doubts(place: &InputPlace, period: Period) -> anyhow::Result<Vec<Doubt>> {
    let world = &place.world;
    let policies = world.policies();
    let mut doubts: Vec<Doubt> =
        policies.flat_map(|policy| standing_doubts(world, &policy, period.from())).collect();
    let forecast = Forecast::new(world, period, place.initial.clone());
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut progress = Progress::new("running", forecast.len());
    let run =
        |part, hand: &mut dyn FnMut(Vec<Doubt>) -> anyhow::Result<()>| hand(forecast.doubts(part));
    in_order(forecast.len(), threads, run, |found| {
        doubts.extend(found);
        progress.advance();
        Ok(())
    })?;
    Ok(doubts)
}

/// The object that a doubt is about, by its position among those that were read, and what is told.
fn finding(place: &InputPlace, doubt: &Doubt) -> Option<(usize, Finding)> {
    let Doubt { policy, about, at, .. } = doubt;
    let (object, field) = position(place, doubt)?;
    let finding = Finding::new(code(about), field, about.to_string());
    Some((object, finding.with_fix(advice(policy, about)).with_instants(at.clone())))
}

fn position(place: &InputPlace, doubt: &Doubt) -> Option<(usize, FieldPath)> {
    let spec = Path::Root.key("spec");
    if let About::ScoreEnds { score, cluster, .. } = &doubt.about {
        let group = doubt.policy.identity.group();
        let object = Identity::new(group, "AddOnPlacementScore", cluster, score);
        if let Some(object) = place.position(&object) {
            return Some((object, (&Path::Root.key("status").key("validUntil")).into()));
        }
    }
    let object = place.position(&doubt.policy.identity)?;
    let field = match &doubt.about {
        About::PodsWait { .. } => Some((&spec.key("units")).into()),
        About::SelectsNothing { position, .. } => selector_field(place, &doubt.policy, *position),
        About::ScoreEnds { .. } => Some((&spec.key("prioritizerPolicy")).into()),
        _ => rule_field(place, doubt),
    };
    Some((object, field.unwrap_or_else(|| (&spec).into())))
}

/// The field of a selector: of the rule or unit at a position, or of the policy as a whole.
fn selector_field(
    place: &InputPlace,
    policy: &PolicyName,
    position: Option<u32>,
) -> Option<FieldPath> {
    let spec = Path::Root.key("spec");
    let position = position.and_then(|it| usize::try_from(it).ok());
    match (policy.family, position) {
        (Family::Placement, _) => Some((&spec.key("predicates")).into()),
        (Family::Units, None) => Some((&spec.key("podSelector")).into()),
        (Family::Units, Some(unit)) => {
            Some((&spec.key("units").index(unit).key("nodeSelector")).into())
        }
        (
            Family::QosLevels
            | Family::CronScaling
            | Family::ScheduledCapacity
            | Family::MetricScaling,
            position,
        ) => field_of_rule(policy.family, &place.world.slim_of(policy)?, position?),
    }
}

fn rule_field(place: &InputPlace, doubt: &Doubt) -> Option<FieldPath> {
    let (policy, rule) = (&doubt.policy, doubt.rule.as_ref()?);
    let schedules = place.world.schedules(policy);
    let schedule = schedules.iter().find(|it| it.rule == *rule)?;
    let slim = place.world.slim_of(policy)?;
    field_of_rule(policy.family, &slim, usize::try_from(schedule.position).ok()?)
}

fn code(about: &About) -> Code {
    match about {
        About::Suspended => Code::Suspended,
        About::NeverFires { .. } => Code::NeverFires,
        About::NeverOpens { .. } => Code::NeverOpens,
        About::NeverWins { .. } => Code::NeverWins,
        About::ListOrder { .. } => Code::ListOrder,
        About::Gap { .. } => Code::Gap,
        About::CutShort { .. } => Code::CutShort,
        About::MovesOtherBound { .. } => Code::MovesOtherBound,
        About::OutOfBounds { .. } => Code::OutOfBounds,
        About::PodsWait { .. } => Code::UnitsTooSmall,
        About::ScoreEnds { .. } => Code::ScoreEnds,
        About::SelectsNothing { .. } => Code::SelectsNothing,
    }
}

/// What to do, as far as it does not depend on the family.
fn advice(policy: &PolicyName, about: &About) -> &'static str {
    match (policy.family, about) {
        (Family::QosLevels, About::NeverWins { .. }) => {
            "list it before the other one, or remove it"
        }
        _ => about.advice(),
    }
}
