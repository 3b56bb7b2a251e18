//! The additions of placements to their turns: they write decisions in place of a target, and requeue other placements.

use almanac_engine::placement::Placement;
use almanac_engine::turn::Turn;
use almanac_engine::{Action, Identity, Outcome, PolicyName};
use almanac_shell::writer::StillWanted;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};

use super::records::TurnReport;
use super::writer::DecisionWriter;
use crate::cluster::{ClusterState, SpecRevision};
use crate::turn_hooks::{AfterTurn, Outcomes, TurnHooks};

/// A placement is decided again after about this long, even without a known change.
const RESYNC_INTERVAL: SignedDuration = SignedDuration::from_mins(5);

impl TurnHooks for DecisionWriter {
    /// If two placements that select by the decisions of others decided at the same time, each would choose the
    /// clusters that the other placement chooses.
    fn depends_on_others(&self, state: &ClusterState, policy: &Identity) -> bool {
        let placement =
            state.world.placement.policies.get(policy).and_then(|it| it.policy.as_deref());
        placement.is_some_and(Placement::selects_by_balance)
    }

    fn waits_until(
        &self,
        state: &ClusterState,
        policy: &Identity,
        revision: SpecRevision,
        now: Timestamp,
    ) -> Option<Timestamp> {
        state.hub.waits_until(policy, revision, now)
    }

    fn is_ready(&self, state: &ClusterState) -> bool {
        state.hub.missing_kind().is_none()
    }

    fn before(&self, state: &mut ClusterState, policy: &Identity, now: Timestamp) {
        self.metrics.count_turn();
        state.hub.start(policy, now);
    }

    fn skipped(&self, state: &mut ClusterState, policy: &Identity) {
        state.hub.note_undecided(policy);
    }

    fn apply<'a>(
        &'a self,
        policy: &'a PolicyName,
        uid: &'a str,
        actions: &'a [Action],
        still_wanted: StillWanted<'a>,
    ) -> Option<BoxFuture<'a, Outcomes>> {
        Some(self.write_all(policy, uid, actions, still_wanted).boxed())
    }

    fn after(
        &self,
        state: &mut ClusterState,
        policy: &PolicyName,
        revision: SpecRevision,
        turn: &Turn,
        now: Timestamp,
    ) -> AfterTurn {
        let ClusterState { world, hub, .. } = state;
        let TurnReport { again, lag } = hub.settle(&policy.identity, revision, &turn.done, now);
        if let Some(lag) = lag {
            self.metrics.observe(lag);
        }
        hub.note_due(&policy.identity, turn.wake_at);
        let has_written = turn.done.iter().any(|(_, outcome)| *outcome == Outcome::Done);
        let others = if has_written { hub.after_write(world, policy, now) } else { Vec::new() };
        AfterTurn { again, others }
    }

    fn resync_interval(&self) -> Option<SignedDuration> {
        Some(RESYNC_INTERVAL)
    }
}
