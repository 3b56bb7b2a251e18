//! Explains the values of a target at an instant, as far as one policy is concerned, and the next change.

mod past;
mod requests;

use std::collections::BTreeMap;

use almanac_engine::{
    Consequence, Division, Family, Field, Identity, PolicyName, RankedRequest, RuleExplanation,
    Value, Verdict, World, islands, known_until, with_a_part_in,
};
use jiff::{SignedDuration, Timestamp};

use self::past::Past;
use self::requests::{ranked, requests_in};
use crate::{AssumedValues, Assumption, LastWrite, Origin, Simulation};

/// The length of the search for the next change: a leap year, so that the same day of the next year is
/// included.
const LOOKS_AHEAD: SignedDuration = SignedDuration::from_hours(366 * 24);

/// The decision of one policy at an instant, with its whole chain of reasons.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The policy.
    pub policy: PolicyName,
    /// The target of the policy; a schedule is its own target.
    pub target: Identity,
    /// The explained instant.
    pub at: Timestamp,
    /// The value of each field of the target at that instant, and its writer.
    pub values: Vec<(Field, LastWrite)>,
    /// The verdict on every rule, in the order of the spec.
    pub reasons: Vec<RuleExplanation>,
    /// The requests for each field, in the order of [`Explanation::values`], the winner first.
    pub requests: Vec<(Field, Vec<RankedRequest>)>,
    /// The next change of any of the values within a year.
    pub next: Option<Change>,
    /// The divisions of the value; empty if the value is not divided.
    pub divisions: Vec<Division>,
    /// The assumptions of this explanation.
    pub assumptions: Vec<Assumption>,
}

/// A change of a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The instant of the change.
    pub at: Timestamp,
    /// The new value of every field, in the order of [`Explanation::values`].
    pub values: Vec<(Field, Option<Value>)>,
}

/// Explains what a policy does at an instant. `None` when the world has no such policy. For an
/// invalid one, there is only the current value.
#[must_use]
pub fn explain(world: &World, policy: &PolicyName, at: Timestamp) -> Option<Explanation> {
    Explainer::new(world).explain(policy, at)
}

/// Explains the values of a world. Computes once what several explanations need: the connected policies, and the
/// time before an instant.
#[derive(Debug)]
pub struct Explainer<'w> {
    world: &'w World,
    islands: Vec<Vec<PolicyName>>,
    /// The index of the island of each policy.
    positions: BTreeMap<PolicyName, usize>,
    /// The policies that are not applied to a target because one of the two is exempt.
    exempt: BTreeMap<Identity, Vec<PolicyName>>,
    /// The run before the last explained instant.
    past: Option<Past>,
}

impl<'w> Explainer<'w> {
    /// Prepares explanations of a world.
    #[must_use]
    pub fn new(world: &'w World) -> Explainer<'w> {
        let islands = islands(world);
        let mut positions = BTreeMap::new();
        for (position, island) in islands.iter().enumerate() {
            positions.extend(island.iter().map(|policy| (policy.clone(), position)));
        }
        let mut exempt: BTreeMap<Identity, Vec<PolicyName>> = BTreeMap::new();
        for policy in world.policies().filter(|it| world.why_exempt(it).is_some()) {
            if let Some(reference) = world.target_of(&policy) {
                exempt.entry(reference.target.identity().clone()).or_default().push(policy);
            }
        }
        Explainer { world, islands, positions, exempt, past: None }
    }

    /// Explains what a policy does at an instant, as [`explain`] does.
    pub fn explain(&mut self, policy: &PolicyName, at: Timestamp) -> Option<Explanation> {
        let reference = self.world.target_of(policy);
        let target = reference.map(|reference| reference.target.identity().clone());
        let target = target.unwrap_or_else(|| policy.identity.clone());
        self.explain_object(policy, &target, at, &AssumedValues::new())
    }

    /// Explains what a policy does to one object of which it sets fields. `assumed` has the values of fields at
    /// that instant.
    pub fn explain_object(
        &mut self,
        policy: &PolicyName,
        target: &Identity,
        at: Timestamp,
        assumed: &AssumedValues,
    ) -> Option<Explanation> {
        let world = self.world;
        let island = self.island_of(policy, target)?;
        let part = world.part_with(&island, target);
        let is_known = known_until(&part).is_some_and(|it| it <= at);
        let watched = world.feeds_back(policy).then_some(policy);
        let mut simulation = Simulation::start_watching(part, at, assumed, watched);
        let mut assumptions = simulation.assumptions().to_vec();
        assumptions.retain(|assumption| match assumption {
            Assumption::Presumed(presumption) => match presumption.consequence() {
                Consequence::Only(object) => object == target,
                Consequence::General | Consequence::Unchanged(_) => true,
            },
            _ => true,
        });
        while simulation.step(just_after(at)).is_some() {}
        let mut values = values_of(&simulation, target);
        let last_turn = simulation.take_last_turn();
        let (world_then, then) =
            last_turn.as_ref().map_or((simulation.world(), at), |(world, then)| (world, *then));
        let reasons = || {
            let mut reasons = world_then.explain_object(policy, target, then);
            reasons.extend(simulation.world().decides_otherwise(policy, at));
            reasons
        };
        let mut reasons =
            why_unknown(simulation.world(), target).map_or_else(reasons, |it| vec![it]);
        let divisions = simulation.world().divisions(policy);
        let credits_writers = divisions.is_empty() && !world.explains_parts(policy);
        let concerned = with_a_part_in(world, &island, target);
        let requesting = concerned.iter().map(|it| (simulation.world(), it));
        // The run contains only the connected policies, and exempt policies are not connected.
        let exempt = self.exempt.get(target).into_iter().flatten();
        let exempt = exempt.filter(|it| !concerned.contains(it)).map(|it| (world, it));
        let requests = requests_in(&requesting.chain(exempt), target, &values, at);
        // Values that only other policies set cannot change these values, however often those policies change them.
        simulation.go_on_with(&concerned);
        let ends_matter_of = credits_writers.then_some(policy);
        let ahead = look_ahead(&mut simulation, target, at, &values, ends_matter_of);
        let is_assumed = |field: Field| assumed.contains_key(&(target.clone(), field));
        self.date(&mut values, concerned, target, at, is_assumed);
        date_back(&mut values, policy, &reasons, is_known);
        if credits_writers {
            credit_writers(&mut reasons, policy, &values, &ahead.ends);
        }
        let requests = ranked(&values, requests);
        let LookAhead { next, .. } = ahead;
        let (policy, target) = (policy.clone(), target.clone());
        Some(Explanation {
            policy,
            target,
            at,
            values,
            reasons,
            requests,
            next,
            divisions,
            assumptions,
        })
    }

    /// The island of a policy. If the policy sets nothing, the island of the policies that set the object is added.
    fn island_of(&self, policy: &PolicyName, object: &Identity) -> Option<Vec<PolicyName>> {
        let world = self.world;
        let own = self.islands.get(*self.positions.get(policy)?)?;
        if !world.footprint(policy).writes.is_empty() {
            return Some(own.clone());
        }
        let sets =
            |it: &PolicyName| world.footprint(it).writes.iter().any(|(set, _)| set == object);
        let others = self.islands.iter().find(|island| island.iter().any(sets));
        let mut all: Vec<PolicyName> =
            own.iter().chain(others.into_iter().flatten()).cloned().collect();
        all.sort();
        all.dedup();
        Some(all)
    }

    /// Dates each value. If firings set it, the date is the last firing of its rule. Otherwise the date is the start of
    /// its stretch in a run over the week before, or in a run from the known state. An older value has no
    /// date.
    fn date(
        &mut self,
        values: &mut [(Field, LastWrite)],
        policies: Vec<PolicyName>,
        target: &Identity,
        at: Timestamp,
        is_assumed: impl Fn(Field) -> bool,
    ) {
        let world = self.world;
        let is_decided = |write: &LastWrite| {
            let writer = write.origin.writer.as_ref();
            writer.is_some_and(|writer| !world.sets_by_firings(&writer.policy))
        };
        let mut decided: Vec<_> = values.iter_mut().filter(|(_, it)| is_decided(it)).collect();
        for (_, write) in &mut decided {
            write.since = None;
        }
        // An assumed value applies from this instant on. Earlier values do not matter.
        decided.retain(|(field, _)| !is_assumed(*field));
        if decided.is_empty() {
            return;
        }
        if !self.past.as_ref().is_some_and(|past| past.is_before(at, &policies)) {
            self.past = Past::before(at, world, policies);
        }
        let Some(past) = &mut self.past else { return };
        for (field, write) in decided {
            write.since = past.since(at, target, *field, write);
        }
    }
}

/// The reason for an unknown selection of a placement, in place of the verdict on each cluster.
fn why_unknown(world: &World, target: &Identity) -> Option<RuleExplanation> {
    let why = world.why_unknown(target, Field::Clusters)?;
    Some(RuleExplanation {
        rule: None,
        position: None,
        verdict: Verdict::Excluded,
        message: format!("unknown: {why}"),
        since: None,
        until: None,
        scored: None,
        answered: None,
    })
}

/// Every field of an object that policies set or that has a known value, with its last write.
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

/// Whether a field has its initial value, and no policy sets it.
fn is_untouched((_, write): &(Field, LastWrite)) -> bool {
    write.origin == Origin::initial()
}

/// Whether the same rule or placement decides. A selection of a placement has no rule, only a change cause.
fn is_same(one: &Origin, other: &Origin) -> bool {
    let policies = [one, other].map(|it| it.writer.as_ref().map(|writer| &writer.policy));
    let is_of_placement = |it: &PolicyName| it.family == Family::Placement;
    if policies[0].is_some_and(is_of_placement) {
        return policies[0] == policies[1];
    }
    one.writer == other.writer
}

/// Dates older values: a schedule yields the start of its winner, and a status the last scaling of an autoscaler.
fn date_back(
    values: &mut [(Field, LastWrite)],
    policy: &PolicyName,
    reasons: &[RuleExplanation],
    is_known: bool,
) {
    for (_, write) in values.iter_mut().filter(|(_, write)| write.since.is_none()) {
        let writer = write.origin.writer.as_ref().filter(|it| it.policy == *policy);
        let Some(writer) = writer else { continue };
        let won = reasons.iter().find(|it| it.verdict == Verdict::Won && it.rule == writer.rule);
        let is_of_schedule = policy.family == Family::ScheduledCapacity;
        let since = won.and_then(|reason| reason.since);
        write.since = since.filter(|_| is_known || is_of_schedule);
    }
}

/// A rule whose value still applies has won, however long ago it fired. A rule has lost if another
/// policy has set its fields since.
fn credit_writers(
    reasons: &mut [RuleExplanation],
    policy: &PolicyName,
    values: &[(Field, LastWrite)],
    ends: &[Option<Timestamp>],
) {
    // A rule without fields to set cannot have won.
    if values.is_empty() {
        return;
    }
    // A value that applies until the next sample applies as a whole: it does not matter which metric set it.
    let is_own = |(_, write): &(Field, LastWrite)| {
        write.origin.writer.as_ref().is_some_and(|writer| writer.policy == *policy)
    };
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
                reason.since = write.since.or(reason.since);
                reason.until = reason.until.or(until);
            } else {
                (reason.verdict, reason.since) = (Verdict::Won, write.since);
                reason.until = until;
            }
        } else if reason.verdict == Verdict::Won
            && values.iter().any(|it| !is_untouched(it))
            && !(reason.rule.is_none() && values.iter().any(is_own))
        {
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

struct LookAhead {
    /// The next change of a value.
    next: Option<Change>,
    /// For each field, the first write by another rule or of another value, if the search covers the field.
    ends: Vec<Option<Timestamp>>,
}

/// Runs the clock until the next change and the end of each value that the policy has set, at most for a year.
fn look_ahead(
    simulation: &mut Simulation,
    target: &Identity,
    at: Timestamp,
    values: &[(Field, LastWrite)],
    ends_matter_of: Option<&PolicyName>,
) -> LookAhead {
    let last = at.saturating_add(LOOKS_AHEAD).unwrap_or(Timestamp::MAX);
    let mut ahead = LookAhead { next: None, ends: vec![None; values.len()] };
    let matters = |write: &LastWrite| {
        let writer = write.origin.writer.as_ref().map(|writer| &writer.policy);
        writer.is_some() && writer == ends_matter_of
    };
    let is_open = |ahead: &LookAhead| {
        let mut ends = values.iter().zip(&ahead.ends);
        ahead.next.is_none() || ends.any(|((_, write), end)| end.is_none() && matters(write))
    };
    while is_open(&ahead) {
        let Some(now) = simulation.next().filter(|now| *now <= last) else { break };
        // Runs all turns of this instant, because only their last values matter.
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
