//! Why a target has its values at an instant, as far as one policy is concerned, and what changes next.

use almanac_engine::{
    Division, Field, Identity, PolicyName, Presumption, RuleExplanation, Value, Verdict, World,
    islands,
};
use jiff::{SignedDuration, Timestamp};

use crate::{AssumedValues, Assumption, LastWrite, Origin, Simulation};

/// How far the next change is searched for: a leap year, so that the same day of the next year is
/// included.
const LOOKS_AHEAD: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The decision of one policy at an instant, with its whole chain of reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The policy.
    pub policy: PolicyName,
    /// Its target; a schedule is its own target.
    pub target: Identity,
    /// The instant.
    pub at: Timestamp,
    /// The value of each field of the target at that instant, and who set it.
    pub values: Vec<(Field, LastWrite)>,
    /// The verdict on every rule, in the order of the spec.
    pub reasons: Vec<RuleExplanation>,
    /// The next change of any of the values, if one comes within a year.
    pub next: Option<Change>,
    /// How its value is divided, if it is.
    pub divisions: Vec<Division>,
    /// What was assumed.
    pub assumptions: Vec<Assumption>,
}

/// A change of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// From when.
    pub at: Timestamp,
    /// Every field, in the order of [`Explanation::values`].
    pub values: Vec<(Field, Option<Value>)>,
}

/// Explains what a policy does at an instant. `None` when the world has no such policy. For an
/// invalid one, there is only the current value.
#[must_use]
pub fn explain(world: &World, policy: &PolicyName, at: Timestamp) -> Option<Explanation> {
    let target = world.target_of(policy).map(|reference| reference.target.identity().clone());
    let target = target.unwrap_or_else(|| policy.identity.clone());
    explain_object(world, policy, &target, at, &AssumedValues::new())
}

/// The same, as far as an object is concerned that the policy sets something of, if fields had certain values at
/// that instant.
#[must_use]
pub fn explain_object(
    world: &World,
    policy: &PolicyName,
    target: &Identity,
    at: Timestamp,
    assumed: &AssumedValues,
) -> Option<Explanation> {
    let island = islands(world).into_iter().find(|island| island.contains(policy))?;
    let part = world.part_with(&island, target);
    let mut simulation = Simulation::start(part, at, assumed);
    let mut assumptions = simulation.assumptions().to_vec();
    assumptions.retain(|assumption| match assumption {
        Assumption::Presumed(Presumption::TemplateStandsForPods { workload }) => workload == target,
        _ => true,
    });
    while simulation.step(just_after(at)).is_some() {}
    let mut values = values_of(&simulation, target);
    let mut reasons = simulation.world().explain_object(policy, target, at);
    let divisions = simulation.world().divisions(policy);
    let ahead = if values.is_empty() {
        Ahead::default()
    } else {
        look_ahead(&mut simulation, target, at, &values)
    };
    if divisions.is_empty() && !world.explains_parts(policy) {
        credit_writers(&mut reasons, policy, &values, &ahead.ends);
    } else if !divisions.is_empty() {
        // The reasons are about the parts of the value, and it is decided at this instant: since when it has been
        // the same is not known.
        for (_, write) in &mut values {
            write.since = None;
        }
    }
    date_back(&mut values, policy, &reasons);
    let next = ahead.next;
    let target = target.clone();
    let policy = policy.clone();
    Some(Explanation { policy, target, at, values, reasons, next, divisions, assumptions })
}

/// Every field of an object that policies set, or that is known, with its last write.
fn values_of(simulation: &Simulation, object: &Identity) -> Vec<(Field, LastWrite)> {
    let fields = Field::ALL.into_iter();
    let held = fields.filter_map(|field| {
        let held = simulation.last_writes().get(&(object.clone(), field)).cloned();
        let given = || {
            let value = field.read(simulation.world(), object)?;
            Some(LastWrite { value: Some(value), origin: Origin::initial(), since: None })
        };
        Some((field, held.or_else(given)?))
    });
    held.collect()
}

/// Whether a field has the value it began with, and no policy has anything to do with it.
fn is_untouched((_, write): &(Field, LastWrite)) -> bool {
    write.origin == Origin::initial()
}

/// What is decided afresh is written again at the beginning of a run; it holds since its reason does.
fn date_back(values: &mut [(Field, LastWrite)], policy: &PolicyName, reasons: &[RuleExplanation]) {
    for (_, write) in values {
        let Some(writer) = write.origin.writer.as_ref().filter(|it| it.policy == *policy) else {
            continue;
        };
        let won = reasons.iter().find(|it| it.verdict == Verdict::Won && it.rule == writer.rule);
        let began = won.and_then(|reason| reason.since);
        write.since = write.since.into_iter().chain(began).min();
    }
}

/// A rule whose value still applies has won, however long ago it fired; one whose fields another
/// policy has set since has not.
fn credit_writers(
    reasons: &mut [RuleExplanation],
    policy: &PolicyName,
    values: &[(Field, LastWrite)],
    ends: &[Option<Timestamp>],
) {
    // Where nothing can be set, nothing can be credited.
    if values.is_empty() {
        return;
    }
    for reason in reasons.iter_mut() {
        let held = values.iter().zip(ends).filter(|((_, write), _)| {
            let writer = write.origin.writer.as_ref();
            writer.is_some_and(|it| it.policy == *policy && it.rule == reason.rule)
        });
        let until = held.clone().filter_map(|(_, end)| *end).min();
        let last_set = held.max_by_key(|((_, write), _)| write.since);
        if let Some(((_, write), _)) = last_set {
            reason.message = write.origin.reason.to_string();
            if reason.verdict == Verdict::Won {
                reason.until = reason.until.or(until);
            } else {
                (reason.verdict, reason.since) = (Verdict::Won, write.since);
                reason.until = until;
            }
        } else if reason.verdict == Verdict::Won && values.iter().any(|it| !is_untouched(it)) {
            let other = values.iter().find_map(|(_, write)| write.origin.writer.as_ref());
            reason.message = match other {
                Some(other) if other.policy != *policy => {
                    format!("{}, but {} set it later", reason.message, other.policy)
                }
                _ => format!("{}, but it has been changed since", reason.message),
            };
            reason.verdict = Verdict::Lost;
        }
    }
}

#[derive(Default)]
struct Ahead {
    /// The next change of a value.
    next: Option<Change>,
    /// For each field, when it is first set by another rule or to another value.
    ends: Vec<Option<Timestamp>>,
}

/// Runs the clock until the next change of every field is known, or a year is over.
fn look_ahead(
    simulation: &mut Simulation,
    target: &Identity,
    at: Timestamp,
    values: &[(Field, LastWrite)],
) -> Ahead {
    let last = at.saturating_add(LOOKS_AHEAD).unwrap_or(Timestamp::MAX);
    let mut ahead = Ahead { next: None, ends: vec![None; values.len()] };
    while ahead.next.is_none() || ahead.ends.contains(&None) {
        let Some(now) = simulation.next().filter(|now| *now <= last) else { break };
        // All turns of this instant, so that only what remains of them counts.
        while simulation.step(just_after(now)).is_some() {}
        let held = values_of(simulation, target);
        for (((_, before), (_, write)), end) in values.iter().zip(&held).zip(&mut ahead.ends) {
            let other = before.value != write.value || before.origin.writer != write.origin.writer;
            if end.is_none() && other {
                *end = Some(now);
            }
        }
        let differs = values.iter().zip(&held).any(|((_, a), (_, b))| a.value != b.value);
        if ahead.next.is_none() && differs {
            let values = held.into_iter().map(|(field, write)| (field, write.value)).collect();
            ahead.next = Some(Change { at: now, values });
        }
    }
    ahead
}

fn just_after(at: Timestamp) -> Timestamp {
    at.checked_add(SignedDuration::from_nanos(1)).unwrap_or(Timestamp::MAX)
}
