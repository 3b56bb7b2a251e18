//! The world before the last turn of one policy, which explains the decision of that turn. After the decision is
//! applied, the same policy may decide differently.

use almanac_engine::{PolicyName, World};
use jiff::Timestamp;

/// The last turn of a policy.
#[derive(Debug)]
pub(crate) struct LastTurn {
    policy: PolicyName,
    turn: Option<Turn>,
    /// The world before a turn that has started.
    begun: Option<(World, Timestamp)>,
}

#[derive(Debug)]
struct Turn {
    before: World,
    at: Timestamp,
    changes: bool,
}

impl LastTurn {
    pub(crate) fn for_policy(policy: PolicyName) -> LastTurn {
        LastTurn { policy, turn: None, begun: None }
    }

    pub(crate) fn begin_turn(&mut self, world: &World, policy: &PolicyName, at: Timestamp) {
        if *policy == self.policy {
            self.begun = Some((world.without_pods(), at));
        }
    }

    /// Of several turns at one instant, prefers one that changes something.
    pub(crate) fn end_turn(&mut self, policy: &PolicyName, changes: bool) {
        let Some((before, at)) = self.begun.take_if(|_| *policy == self.policy) else { return };
        let counts_still = |last: &Turn| last.at == at && last.changes && !changes;
        if !self.turn.as_ref().is_some_and(counts_still) {
            self.turn = Some(Turn { before, at, changes });
        }
    }

    pub(crate) fn into_before(self) -> Option<(World, Timestamp)> {
        self.turn.map(|turn| (turn.before, turn.at))
    }
}
