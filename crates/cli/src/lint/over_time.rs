//! Findings of a forecast: each with a code and the location of its cause.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use almanac_api::checking::{CheckedObject, placed, pod_demands};
use almanac_api::exempt::EXEMPT_NAMESPACES;
use almanac_api::families::Descriptor;
use almanac_api::finding::{Code, FieldPath, Finding, Path};
use almanac_api::kinds::Kind;
use almanac_api::objects::CONFIG_NAMESPACE;
use almanac_api::reading::{PlacedFinding, Reading};
use almanac_engine::qos_levels::{AgentSettings, LevelFormat};
use almanac_engine::{Exempt, Exemption, Family, Identity, PolicyName};
use almanac_forecast::{Forecast, ForecastFinding, Period, Problem, standing_findings};
use jiff::{SignedDuration, Timestamp};

use super::fitting;
use crate::files::Targets;
use crate::findings::Checked;
use crate::forecast::in_order::{collected, threads};
use crate::input::{InputPlace, places_of};

/// The period for which policies run.
const TWO_YEARS: SignedDuration = SignedDuration::from_hours(24 * 731);

/// Runs the checked policies. Leaves only the findings of each object in `checked`.
pub(super) fn findings(checked: &mut Checked) -> anyhow::Result<Vec<PlacedFinding>> {
    let objects = std::mem::take(&mut checked.everything.objects);
    let writers = writers(&checked.everything.findings, &objects);
    let (reading, everything) = (&checked.files.reading, &checked.everything);
    let demands = pod_demands(reading, &objects, &everything.places, &checked.namespace);
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
    let to = checked.from.saturating_add(TWO_YEARS)?;
    let Some(period) = Period::new(checked.from, to) else { return Ok(Vec::new()) };
    let meeting = meeting(&everything.findings);
    let mut found = FindingsByObject::default();
    let mut shown: BTreeSet<(Identity, Identity)> = BTreeSet::new();
    for place in &places {
        let number = place.numbers.first().copied().unwrap_or_default();
        for (index, finding) in exempt_policies(place) {
            found.add(index, finding, number);
        }
        for forecast_finding in forecast_findings(place, period)? {
            let Some((index, finding)) = finding(place, &forecast_finding) else { continue };
            if reports_winner(place, &forecast_finding, index, &meeting) {
                continue;
            }
            if let Problem::OutOfBounds { autoscaler, .. } = &forecast_finding.problem {
                shown.insert((forecast_finding.policy.identity.clone(), autoscaler.clone()));
            }
            found.add(index, finding, number);
        }
    }
    let mut over_time: Vec<PlacedFinding> = found.placed_findings(reading, places.len()).collect();
    over_time.extend(fitting::findings(reading, &places, &demands, period)?);
    let of_pods = over_time.iter().filter(|it| it.finding.code == Code::UnitsTooSmall);
    let of_pods: BTreeSet<Option<usize>> = of_pods.map(|it| it.object).collect();
    // A finding from a run has the instants and the numbers; a finding from the fields of the same object lacks them.
    checked.everything.findings.retain(|it| match it.finding.code {
        Code::UnitsTooSmall => !of_pods.contains(&it.object),
        Code::TwoWriters => {
            let writer = it.object.and_then(|object| writers.get(&object));
            let Some((one, other)) = writer.zip(it.finding.other.as_deref()) else { return true };
            let is_shown =
                |one: &Identity, other: &Identity| shown.contains(&(one.clone(), other.clone()));
            let are_run = places.iter().any(|it| is_run(it, one) && is_run(it, other));
            !are_run && !is_shown(one, other) && !is_shown(other, one)
        }
        _ => true,
    });
    Ok(over_time)
}

/// The findings, by the index of the object, each with the affected places.
#[derive(Default)]
pub(super) struct FindingsByObject(BTreeMap<usize, Vec<(Finding, Vec<usize>)>>);

impl FindingsByObject {
    pub(super) fn add(&mut self, index: usize, finding: Finding, place: usize) {
        let of_object = self.0.entry(index).or_default();
        match of_object.iter_mut().find(|(known, _)| *known == finding) {
            Some((_, numbers)) if numbers.last() == Some(&place) => {}
            Some((_, numbers)) => numbers.push(place),
            None => of_object.push((finding, vec![place])),
        }
    }

    /// Each finding once: without a place if all `count` places have it, and with the first affected place otherwise.
    pub(super) fn placed_findings(
        self,
        reading: &Reading,
        count: usize,
    ) -> impl Iterator<Item = PlacedFinding> {
        let all = self.0.into_iter();
        let all = all.flat_map(|(index, all)| all.into_iter().map(move |it| (index, it)));
        all.map(move |(index, (finding, numbers))| {
            let place = numbers.first().copied().filter(|_| numbers.len() < count);
            PlacedFinding { place, ..placed(reading, index, finding) }
        })
    }
}

/// The policies that do nothing because of their namespace. An annotation on a policy or its target is intentional,
/// and not reported.
fn exempt_policies(place: &InputPlace) -> Vec<(usize, Finding)> {
    let of_policy = |policy: PolicyName| {
        let fix = match place.world.why_exempt(&policy)? {
            Exempt::Policy(Exemption::Namespace) => {
                "move the policy and its target, or set --exempt-namespaces of the controllers"
            }
            Exempt::Policy(Exemption::MarkedNamespace) => {
                "move the policy and its target, or remove almanac.dev/ignore from the namespace"
            }
            Exempt::Policy(_) | Exempt::Target(_) => return None,
        };
        let index = place.position(&policy.identity)?;
        let namespace = policy.identity.namespace();
        let message =
            format!("does nothing: the namespace {namespace} is exempt from all policies");
        let metadata = Path::Root.key("metadata");
        let finding = Finding::new(Code::ExemptNamespace, metadata.key("namespace"), message);
        Some((index, finding.with_fix(fix)))
    };
    place.world.policies().filter_map(of_policy).collect()
}

/// Whether the forecast runs this policy, so that its writes are known in advance.
fn is_run(place: &InputPlace, policy: &Identity) -> bool {
    let policy = PolicyName::new(Family::CronScaling, policy.clone());
    place.world.slim_of(&policy).is_some()
}

/// The objects whose fields make them one of two writers.
fn writers(findings: &[PlacedFinding], objects: &[CheckedObject]) -> BTreeMap<usize, Identity> {
    let of_two = findings.iter().filter(|it| it.finding.code == Code::TwoWriters);
    let writers = of_two.filter_map(|it| {
        let object = it.object?;
        Some((object, objects.get(object)?.identity.clone()?))
    });
    writers.collect()
}

/// The rules with an already reported winner in a common minute, each with the first such instant.
fn meeting(findings: &[PlacedFinding]) -> BTreeSet<(usize, FieldPath, Timestamp)> {
    let meet = findings.iter().filter(|it| it.finding.code == Code::SameMinute);
    let meeting =
        meet.filter_map(|it| Some((it.object?, it.finding.field.clone(), *it.finding.at.first()?)));
    meeting.collect()
}

/// Whether a finding already reports the rule that prevents another rule from winning.
fn reports_winner(
    place: &InputPlace,
    forecast_finding: &ForecastFinding,
    object: usize,
    meeting: &BTreeSet<(usize, FieldPath, Timestamp)>,
) -> bool {
    let Problem::NeverWins { winner: Some(winner), .. } = &forecast_finding.problem else {
        return false;
    };
    let (policy, rule) = (winner.policy.clone(), winner.rule.clone());
    if policy != forecast_finding.policy {
        return false;
    }
    let field = rule_field(place, &policy, rule.as_ref());
    let at = forecast_finding.at.first().copied();
    field.zip(at).is_some_and(|(field, at)| meeting.contains(&(object, field, at)))
}

/// The likely mistakes in one place, in the order of its policies and of its islands.
fn forecast_findings(place: &InputPlace, period: Period) -> anyhow::Result<Vec<ForecastFinding>> {
    let world = &place.world;
    let policies = world.policies();
    let mut forecast_findings: Vec<ForecastFinding> =
        policies.flat_map(|policy| standing_findings(world, &policy, period.from())).collect();
    let forecast = Forecast::new(world, period, place.initial.clone()).joined_by_autoscalers();
    let of_parts = collected("running", forecast.len(), threads(), |part| forecast.findings(part))?;
    forecast_findings.extend(of_parts.into_iter().flatten());
    Ok(forecast_findings)
}

/// The object with a likely mistake, by its index in the input, and the finding.
fn finding(place: &InputPlace, forecast_finding: &ForecastFinding) -> Option<(usize, Finding)> {
    let ForecastFinding { policy, problem, at, .. } = forecast_finding;
    let (object, field) = position(place, forecast_finding)?;
    let finding = Finding::new(code(problem), field, problem.to_string());
    Some((object, finding.with_fix(advice(policy, problem)).with_instants(at.clone())))
}

fn position(place: &InputPlace, forecast_finding: &ForecastFinding) -> Option<(usize, FieldPath)> {
    let spec = Path::Root.key("spec");
    if let Problem::ScoreEnds { score, cluster, .. } | Problem::ScoreEnded { score, cluster, .. } =
        &forecast_finding.problem
    {
        let object = Kind::AddOnPlacementScore.identity(cluster, score);
        if let Some(object) = place.position(&object) {
            return Some((object, (&Path::Root.key("status").key("validUntil")).into()));
        }
    }
    let object = place.position(&forecast_finding.policy.identity)?;
    let field = match &forecast_finding.problem {
        Problem::PodsWait { .. } => Some((&spec.key("units")).into()),
        Problem::SelectsNothing { position, .. } => {
            selector_field(place, &forecast_finding.policy, *position)
        }
        Problem::MetricsAlternate { .. } => {
            Some((&spec.key("behavior").key("scaleDown").key("selectPolicy")).into())
        }
        Problem::ScoreEnds { .. } | Problem::ScoreEnded { .. } => {
            Some((&spec.key("prioritizerPolicy")).into())
        }
        _ => rule_field(place, &forecast_finding.policy, forecast_finding.rule.as_ref()),
    };
    Some((object, field.unwrap_or_else(|| (&spec).into())))
}

/// The field of a selector: of the rule or unit at an index, or of the whole policy.
fn selector_field(
    place: &InputPlace,
    policy: &PolicyName,
    position: Option<u32>,
) -> Option<FieldPath> {
    let position = position.and_then(|it| usize::try_from(it).ok());
    let slim = place.world.slim_of(policy)?;
    Descriptor::for_family(policy.family).selector_field(&slim, position)
}

pub(super) fn rule_field(
    place: &InputPlace,
    policy: &PolicyName,
    rule: Option<&Arc<str>>,
) -> Option<FieldPath> {
    let schedules = place.world.schedules(policy);
    let schedule = schedules.iter().find(|it| Some(&it.rule) == rule)?;
    let slim = place.world.slim_of(policy)?;
    let position = usize::try_from(schedule.position).ok()?;
    Descriptor::for_family(policy.family).rule_field(&slim, position)
}

fn code(problem: &Problem) -> Code {
    match problem {
        Problem::Suspended => Code::Suspended,
        Problem::NeverFires { .. } => Code::NeverFires,
        Problem::NeverOpens { .. } => Code::NeverOpens,
        Problem::NeverWins { .. } => Code::NeverWins,
        Problem::ListOrder { .. } => Code::ListOrder,
        Problem::Gap { .. } => Code::Gap,
        Problem::CutShort { .. } => Code::CutShort,
        Problem::TwoWriters { .. } => Code::TwoWriters,
        Problem::MovesOtherBound { .. } => Code::MovesOtherBound,
        Problem::OutOfBounds { .. } => Code::OutOfBounds,
        Problem::PodsWait { .. } => Code::UnitsTooSmall,
        Problem::ScoreEnds { .. } | Problem::ScoreEnded { .. } => Code::ScoreEnds,
        Problem::SelectsNothing { .. } => Code::SelectsNothing,
        Problem::MetricsAlternate { .. } => Code::MetricsAlternate,
    }
}

fn advice(policy: &PolicyName, problem: &Problem) -> &'static str {
    let by_order = Descriptor::for_family(policy.family).never_wins_fix;
    by_order.filter(|_| matches!(problem, Problem::NeverWins { .. })).unwrap_or(problem.advice())
}
