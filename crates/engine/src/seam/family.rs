//! The interface that every family implements, with defaults for the optional part.

use std::fmt::Debug;
use std::sync::Arc;

use almanac_calendar::Zone;
use jiff::Timestamp;

use super::{
    Beginning, DecisionParts, FamilyState, InfluenceLimit, Opening, PolicyDecision, PolicyObject,
    RunStart, Settlement, Times, View, ViewMut,
};
use crate::other_writer::ExternalChange;
use crate::{
    Division, EndedScore, Field, Footprint, Identity, Inactive, Occurrence, Outcome, Presumption,
    Reason, ReplicaMaximum, Requested, RuleExplanation, RuleSchedule, TargetReference, Unmatched,
};

/// The name of a rule, and a line for users.
pub type ReasonText = (Option<Arc<str>>, String);

/// An occurrence, and the name of its rule.
pub type Happened = (Occurrence, Option<Arc<str>>);

/// The start of policies of a family.
pub type Start<F> = RunStart<Reason<<F as PolicyFamily>::Cause>>;

/// An object of a family, with its policy state.
pub type ObjectOf<F> = PolicyObject<<F as PolicyFamily>::Policy, <F as PolicyFamily>::Memory>;

/// A family of policies.
///
/// Every family implements the items without a default, and overrides each default that does not apply to it. For a
/// policy that does not exist or is unusable, a method returns an empty result.
#[expect(clippy::must_use_candidate, reason = "every caller uses the result")]
pub trait PolicyFamily: Copy + Debug + Send + Sync + 'static {
    /// A checked policy.
    type Policy: Clone + Debug + Send + Sync + 'static;
    /// The policy state between two turns.
    type Memory: Clone + Debug + Send + Sync + 'static;
    /// The state that only this family reads.
    type Extra: Clone + Debug + Default + Send + Sync + 'static;
    /// The input of a decision.
    type Input<'w>;
    /// A decision.
    type Decision: DecisionParts + Clone + Debug + Send + Sync + 'static;
    /// The cause of a value.
    type Cause: Copy + Eq + Debug + Send + Sync + 'static;
    /// An entry for Events, logs and metrics.
    type Record: Clone + Eq + Debug;

    /// Gathers the input of a decision; `None` if the policy has no decision.
    fn gather<'w>(
        view: View<'w, Self>,
        policy: &Identity,
        at: Opening<'w>,
    ) -> Option<Self::Input<'w>>;

    /// Decides at `now`.
    fn decide(input: &Self::Input<'_>, now: Timestamp) -> Self::Decision;

    /// Updates the policy state from the outcomes of a decision's actions, and returns the rest of the settlement.
    fn settle(
        state: &mut FamilyState<Self>,
        policy: &Identity,
        open: PolicyDecision<Self>,
        outcomes: &[Outcome],
        times: Times,
    ) -> Settlement<Self>;

    /// The objects and fields that a policy reads and writes; `None` for an invalid policy.
    fn footprint(view: View<'_, Self>, policy: &Identity) -> Option<Footprint>;

    /// Whether a policy sets a field now: it is usable and not exempt, and not all of its rules are suspended.
    fn is_armed(view: View<'_, Self>, policy: &Identity) -> bool {
        Self::footprint(view, policy).is_some_and(|it| !it.writes.is_empty())
    }

    /// The name of a reason's rule, and the reason as a line for the user. `None` when the policy has changed since.
    fn describe(
        view: View<'_, Self>,
        policy: &Identity,
        reason: &Reason<Self::Cause>,
    ) -> Option<ReasonText>;

    /// The verdict on every rule of a policy after its turns until `now`, in the order of the spec, for `object`. The
    /// object affects the result only if the policy sets fields of several objects.
    fn explain(
        view: View<'_, Self>,
        policy: &Identity,
        object: Option<&Identity>,
        now: Timestamp,
    ) -> Vec<RuleExplanation>;

    /// The occurrence and its rule; `None` for an intermediate step.
    fn occurrence(
        view: View<'_, Self>,
        policy: &Identity,
        record: &Self::Record,
    ) -> Option<Happened>;

    /// Moves policies to their state at the start of a run.
    fn begin(view: ViewMut<'_, Self>, policies: &[&Identity], beginning: Beginning) -> Start<Self>;

    /// Whether each policy depends on all other policies of the family.
    const DECIDES_TOGETHER: bool = false;
    /// Whether the values that the family's policies set depend only on the order of the last firings, and not on
    /// earlier state.
    const FOLLOWS_SCHEDULES: bool = false;
    /// Whether the decision of a policy changes after it is applied, so that only the last turn explains a value.
    const FEEDS_BACK: bool = false;
    /// Whether a value applies since the last firing of its rule, even if the rule had set the same value before.
    const SETS_BY_FIRINGS: bool = false;
    /// Whether an explanation lists parts of a value rather than rules.
    const EXPLAINS_PARTS: bool = false;
    /// Whether the family's policies only bound values that other policies set for the same target, so that they do not
    /// contend with these.
    const SHARES_TARGETS: bool = false;
    /// Whether the family's policies publish a number that others may read.
    const PUBLISHES: bool = false;
    /// Whether decisions depend on the creation time of the policy.
    const IS_DATED: bool = false;
    /// Whether the family's policies set a value again after a different field manager has replaced it.
    const WRITES_AGAIN: bool = false;
    /// The limit on consecutive decisions of policies of the family that influence each other.
    const INFLUENCE: InfluenceLimit = InfluenceLimit::DEFAULT;

    /// Decides for a policy at the opening of its turn.
    fn open(view: View<'_, Self>, policy: &Identity, at: Opening<'_>) -> Option<Self::Decision> {
        Some(Self::decide(&Self::gather(view, policy, at)?, at.now))
    }

    /// Whether a decision about a policy may take longer than a millisecond. The decision then uses a part of the world
    /// with this policy alone.
    fn is_costly(_: View<'_, Self>, _: &Identity) -> bool {
        false
    }

    /// The object to store instead of an earlier one. The earlier policy state takes precedence over the status,
    /// because it is later.
    fn stored(mut object: ObjectOf<Self>, before: Option<ObjectOf<Self>>) -> ObjectOf<Self> {
        object.memory = before.and_then(|before| before.memory).or(object.memory);
        object
    }

    /// The policy state of an object, from its status and from its policy state so far.
    fn with_memory_from(
        from_status: Option<Self::Memory>,
        _: Self::Memory,
    ) -> Option<Self::Memory> {
        from_status
    }

    /// Indexes a new or edited policy by the objects that it reads.
    fn index(_: &mut Self::Extra, _: &Identity, _: &ObjectOf<Self>) {}

    /// Removes the data of a deleted policy.
    fn remove(_: &mut Self::Extra, _: &Identity) {}

    /// Gives a part of a world the data that its policies read.
    fn share(_: &FamilyState<Self>, _: &mut FamilyState<Self>) {}

    /// A copy of the state without data for policies about pods only, which may be large.
    fn without_pods(state: &FamilyState<Self>) -> FamilyState<Self> {
        state.clone()
    }

    /// The object that must be fetched before a policy's turn; `None` if nothing must be fetched.
    fn target(_: View<'_, Self>, _: &Identity) -> Option<TargetReference> {
        None
    }

    /// The last instant at which the actions may be applied; `None` when they are never too late.
    fn deadline(_: &PolicyDecision<Self>) -> Option<Timestamp> {
        None
    }

    /// Whether a policy has no turns while everything is stopped: it is valid, and its actions change objects.
    fn is_stopped(view: View<'_, Self>, policy: &Identity) -> bool {
        view.state.policy(policy).is_some()
    }

    /// The policy state and the settlement of a stopped policy after firings due up to `until` are skipped; `None` for
    /// a policy without firings.
    fn skip_stopped(
        _: View<'_, Self>,
        _: &Identity,
        _until: Timestamp,
        _now: Timestamp,
    ) -> Option<(Self::Memory, Settlement<Self>)> {
        None
    }

    /// The time zones of a policy's schedules, each with the name of its rule.
    fn zones(_: View<'_, Self>, _: &Identity) -> Vec<(Option<Arc<str>>, Zone)> {
        Vec::new()
    }

    /// The schedules of a policy, in the order of its rules, including suspended rules.
    fn schedules(_: View<'_, Self>, _: &Identity) -> Vec<RuleSchedule> {
        Vec::new()
    }

    /// The reason that a valid policy has no effect; `None` if it has one.
    fn why_not_applied(_: View<'_, Self>, _: &Identity) -> Option<String> {
        None
    }

    /// The selectors of a policy that select no object, although the world contains objects of the kind.
    fn unmatched(_: View<'_, Self>, _: &Identity) -> Vec<Unmatched> {
        Vec::new()
    }

    /// The expired scores that a policy ranks by.
    fn ended_scores(_: View<'_, Self>, _: &Identity, _: Timestamp) -> Vec<EndedScore> {
        Vec::new()
    }

    /// The number of rules of a policy if its direction selects one of them and no rule lasts; otherwise `None`.
    fn alternating_rules(_: View<'_, Self>, _: &Identity) -> Option<usize> {
        None
    }

    /// The assumptions of a policy's turns without a cluster.
    fn presumptions(_: View<'_, Self>, _: &Identity) -> Vec<Presumption> {
        Vec::new()
    }

    /// The decision of an additional turn; `None` if it equals the last decision.
    fn decides_otherwise(_: View<'_, Self>, _: &Identity, _: Timestamp) -> Option<RuleExplanation> {
        None
    }

    /// The divisions of a policy's value; empty if the value is not divided.
    fn divisions(_: View<'_, Self>, _: &Identity) -> Vec<Division> {
        Vec::new()
    }

    /// Whether a pod is among those that a policy selects and explains the parts of.
    fn selects(_: View<'_, Self>, _: &Identity, _pod: &Identity) -> bool {
        false
    }

    /// The policies whose decisions may change because a policy that publishes a number was created, edited or deleted.
    fn readers_of_number(_: View<'_, Self>, _publisher: &Identity) -> Vec<Identity> {
        Vec::new()
    }

    /// The policies whose decisions may change because an object that they read, other than a policy, was created,
    /// edited or deleted.
    fn readers_of_object(_: View<'_, Self>, _changed: &Identity) -> Vec<Identity> {
        Vec::new()
    }

    /// The maximum number of replicas that a policy can set for a workload, by each of its rules.
    fn replica_maximum(_: View<'_, Self>, _: &Identity) -> Option<ReplicaMaximum> {
        None
    }

    /// The value that a policy requests for a field of its target, or the reason that it requests none.
    fn request(
        _: View<'_, Self>,
        _: &Identity,
        _: Field,
        _now: Timestamp,
    ) -> Result<Requested, Inactive> {
        Err(Inactive::NotNamed)
    }

    /// Whether a policy needs a turn because its target has changed.
    fn reacts_to_changes(_: View<'_, Self>, _: &Identity, _: Timestamp) -> bool {
        false
    }

    /// The objects whose changes by other policies cause an additional turn of a policy.
    fn follows(view: View<'_, Self>, policy: &Identity) -> Vec<Identity> {
        let target = Self::target(view, policy);
        target.map(|reference| reference.target.identity().clone()).into_iter().collect()
    }

    /// The instant of an additional turn of a policy, because a different policy has just changed an object that it
    /// follows; `None` if the change does not affect it.
    fn follows_target(_: View<'_, Self>, _: &Identity, _: Timestamp) -> Option<Timestamp> {
        None
    }

    /// The instant of an additional turn of a policy whose target is not watched; `None` if changes of the target do
    /// not affect the policy.
    fn rereads_target(
        view: View<'_, Self>,
        policy: &Identity,
        now: Timestamp,
    ) -> Option<Timestamp> {
        Self::follows_target(view, policy, now)
    }

    /// The policies of the family whose decision may change because this policy has just set a value.
    fn influenced_by(_: View<'_, Self>, _: &Identity) -> Vec<Identity> {
        Vec::new()
    }

    /// Detects values of a policy that other field managers have replaced; returns the new ones.
    fn detect_undone(
        _: ViewMut<'_, Self>,
        _: &Identity,
        _: &[ExternalChange],
        _: Timestamp,
    ) -> Vec<Self::Record> {
        Vec::new()
    }

    /// The latest instant for which the state of a policy is known; `None` if no state is known.
    fn known_until(_: &FamilyState<Self>, _: &Identity) -> Option<Timestamp> {
        None
    }

    /// The policy state at the first instant of a run, after a run of everything before that instant. The flag states
    /// whether nothing changes for the policy at that instant. `None` if the earlier run makes no difference.
    fn arrive(
        _: View<'_, Self>,
        _: &Identity,
        _from: Timestamp,
    ) -> Option<(Option<Self::Memory>, bool)> {
        None
    }

    /// Makes a policy new at an instant. The default suits a family whose desired values depend only on the instant and
    /// on the objects that exist then, and not on earlier actions.
    fn start_as_new(_: &mut FamilyState<Self>, _: &Identity, _: Timestamp) {}

    /// Whether a policy continues from an earlier state.
    fn continues(_: &FamilyState<Self>, _: &Identity, _before: &FamilyState<Self>) -> bool {
        true
    }

    /// Whether a policy sets its value at an instant by itself.
    fn decides(_: View<'_, Self>, _: &Identity, _: Timestamp) -> bool {
        true
    }

    /// Whether an additional field was moved, to admit the set value.
    fn moves_other_bound(_: Self::Cause) -> bool {
        false
    }

    /// The field that a different field manager has undone; `None` for other records.
    fn undone(_: &Self::Record) -> Option<Field> {
        None
    }

    /// The rule that fired while a different rule applied; `None` for other records.
    fn superseded(_: &Self::Record) -> Option<Arc<str>> {
        None
    }

    /// The object of the record, for a policy that sets fields of several objects.
    fn happened_to(_: &Self::Record) -> Option<&Identity> {
        None
    }
}
