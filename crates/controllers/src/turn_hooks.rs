//! The additions of a family to the turns of its policies: before a turn, in place of the writes to a target, and after
//! a turn. The rest of a turn is the same for all families, in `reconciler`; `families` lists the families with hooks.

use almanac_engine::turn::Turn;
use almanac_engine::{Action, Identity, Outcome, PolicyName};
use almanac_shell::lease::Fenced;
use almanac_shell::writer::StillWanted;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};

use crate::cluster::{ClusterState, SpecRevision};

/// The outcomes of the actions of a turn; an error if this process no longer leads.
pub(crate) type Outcomes = Result<Vec<Outcome>, Fenced>;

/// The additions of a family to the turns of its policies: by default, none.
pub(crate) trait TurnHooks: Send + Sync {
    /// Whether the turn of a policy depends on the decisions of other policies of its family, so that such turns run
    /// one after the other.
    fn depends_on_others(&self, _state: &ClusterState, _policy: &Identity) -> bool {
        false
    }

    /// The end of the time in which a policy has no turn, regardless of other changes.
    fn waits_until(
        &self,
        _state: &ClusterState,
        _policy: &Identity,
        _revision: SpecRevision,
        _now: Timestamp,
    ) -> Option<Timestamp> {
        None
    }

    /// Whether all objects are known that the decisions of the family depend on: an unknown object is not a missing
    /// one. Until then, no turn opens.
    fn is_ready(&self, _state: &ClusterState) -> bool {
        true
    }

    /// Before a turn, once it is open.
    fn before(&self, _state: &mut ClusterState, _policy: &Identity, _now: Timestamp) {}

    /// In place of a turn, if a policy needs no decision now.
    fn skipped(&self, _state: &mut ClusterState, _policy: &Identity) {}

    /// Applies the actions of a turn, in their order. `None` if they change the target, which the reconciler does.
    fn apply<'a>(
        &'a self,
        _policy: &'a PolicyName,
        _uid: &'a str,
        _actions: &'a [Action],
        _still_wanted: StillWanted<'a>,
    ) -> Option<BoxFuture<'a, Outcomes>> {
        None
    }

    /// After a turn, once it is closed.
    fn after(
        &self,
        _state: &mut ClusterState,
        _policy: &PolicyName,
        _revision: SpecRevision,
        _turn: &Turn,
        _now: Timestamp,
    ) -> AfterTurn {
        AfterTurn::default()
    }

    /// The approximate interval at which a policy without a target is decided again, even without a known change.
    fn resync_interval(&self) -> Option<SignedDuration> {
        None
    }
}

/// The turns that follow from a turn.
#[derive(Default)]
pub(crate) struct AfterTurn {
    /// The instant of the next turn of the same policy.
    pub(crate) again: Option<Timestamp>,
    /// The instants of the next turns of other policies.
    pub(crate) others: Vec<(PolicyName, Timestamp)>,
}
