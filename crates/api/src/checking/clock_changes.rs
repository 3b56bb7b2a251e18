//! Findings about clock changes that affect the rules of policies: a rule at half past two is valid,
//! but the effect is worth knowing.

use almanac_calendar::{ClockEffect, Effect, Zone};
use almanac_engine::{PolicyName, RuleClockEffect, World, few_joined};
use jiff::{SignedDuration, Timestamp};

use super::cron_job;
use super::everything::{CheckedReading, belongs_somewhere};
use crate::families::{Descriptor, qos_levels};
use crate::finding::{Code, FieldPath, Finding, Path};
use crate::kinds::Kind;
use crate::reading::{Locator, PlacedFinding, Reading};

/// A year and a day: every clock change of a year, and the first clock change once more.
const YEAR: SignedDuration = SignedDuration::from_hours(24 * 366);

/// A finding for each rule and each `CronJob` with a firing in a skipped or repeated hour within this number of years.
#[must_use]
pub fn clock_changes(
    reading: &Reading,
    everything: &CheckedReading,
    from: Timestamp,
    years: i32,
) -> Vec<PlacedFinding> {
    let to = from.saturating_add(YEAR * years).unwrap_or(Timestamp::MAX);
    let mut findings = Vec::new();
    for (index, (object, checked)) in reading.objects.iter().zip(&everything.objects).enumerate() {
        let (Some(identity), Some(slim)) = (&checked.identity, &checked.slim) else { continue };
        let Some(family) = checked.kind.family() else { continue };
        if !belongs_somewhere(reading, object.source, &everything.places) {
            continue;
        }
        let mut world = World::default();
        world.upsert(identity.clone(), slim.clone());
        let policy = PolicyName::new(family, identity.clone());
        let effects = world.clock_effects(&policy, from, to);
        for of_rule in effects.chunk_by(|one, other| one.position == other.position) {
            let field = |position| Descriptor::for_family(family).rule_field(slim, position);
            let Some(finding) = finding(of_rule, field) else { continue };
            findings.push(placed(reading, index, finding));
        }
    }
    findings.extend(cron_job::clock_changes(reading, everything, (from, to)));
    findings
}

/// Adds the location to a finding about an object that was read. The finding may be about the text in a value.
#[must_use]
pub fn placed(reading: &Reading, index: usize, mut finding: Finding) -> PlacedFinding {
    let object = &reading.objects[index];
    let metadata = FieldPath::from(Path::Root.key("metadata"));
    if object.kind == Kind::ConfigMap && !finding.field.is_within(&metadata) {
        finding.in_text = qos_levels::location_in_text(object, &finding);
    }
    let span = Locator::new(&reading.sources[object.source], object).locate(&finding);
    let (source, object) = (object.source, Some(index));
    PlacedFinding { source, span: Some(span), finding, object, place: None }
}

fn finding(
    effects: &[RuleClockEffect],
    field: impl Fn(usize) -> Option<FieldPath>,
) -> Option<Finding> {
    let RuleClockEffect { position, zone, .. } = effects.first()?;
    let position = usize::try_from(*position).unwrap_or(usize::MAX);
    let effects: Vec<ClockEffect> = effects.iter().map(|it| it.effect).collect();
    clock_change_finding(*zone, &effects, field(position)?)
}

/// The finding about the effect of clock changes on one schedule, if a clock change moves one of its times.
pub(super) fn clock_change_finding(
    zone: Zone,
    effects: &[ClockEffect],
    field: FieldPath,
) -> Option<Finding> {
    // A user reads the length of a window from its times, so a moved boundary deserves a finding.
    let is_moved = |effect: &&ClockEffect| {
        !matches!(effect.effect, Effect::Shorter { .. } | Effect::Longer { .. })
    };
    let moving: Vec<&ClockEffect> = effects.iter().filter(is_moved).collect();
    if moving.is_empty() {
        return None;
    }
    let message = format!("in {zone}, {}", few_joined(moving.iter(), "; "));
    let at = moving.iter().map(|it| it.change.at).collect();
    let fix = "if another time is meant on that day, choose one that the clock shows exactly once";
    Some(Finding::new(Code::ClockChange, field, message).with_fix(fix).with_instants(at))
}
