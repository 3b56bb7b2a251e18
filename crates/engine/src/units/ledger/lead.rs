//! The conditions for reservations: the ledger leads, and contains all bindings of earlier terms.

use std::fmt;

use super::Ledger;
use crate::units::{Elapsed, LongestBind};

/// Whether a ledger decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LedgerState {
    /// The ledger does not lead.
    #[default]
    Standby,
    /// The ledger leads, and bindings of the previous term might still be in progress.
    Waiting {
        /// The generation of the term.
        generation: u64,
        /// The instant from which a new list contains all bindings of the previous term.
        until: Elapsed,
    },
    /// The ledger decides.
    Serving {
        /// The generation of the term.
        generation: u64,
    },
}

/// The ledger does not lead, or is not complete yet, so it decides nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotServing;

/// A list started too early to contain all bindings of the previous term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooEarly {
    /// The instant from which a list may start; `None` if the ledger does not lead.
    pub until: Option<Elapsed>,
}

impl Ledger {
    /// Whether the ledger decides.
    #[must_use]
    pub fn standing(&self) -> LedgerState {
        self.standing
    }

    pub(super) fn is_serving(&self) -> bool {
        matches!(self.standing, LedgerState::Serving { .. })
    }

    /// Acquires leadership. A bind request of the previous term can be in progress for at most `longest`; the ledger
    /// waits for that time.
    pub fn acquire_leadership(&mut self, generation: u64, now: Elapsed, longest: LongestBind) {
        self.drop_all_leases();
        self.end_unnominated(Elapsed::MAX);
        self.standing = LedgerState::Waiting { generation, until: longest.after(now) };
    }

    /// Ends the term after the replica has lost leadership, or might have lost it.
    pub fn lose_leadership(&mut self) {
        self.drop_all_leases();
        self.end_unnominated(Elapsed::MAX);
        self.standing = LedgerState::Standby;
    }

    /// Starts to decide. The ledger contains the result of quorum reads of all policies, nodes and pods, and the
    /// earliest read started at `lists_begun_at`.
    pub fn serve(&mut self, lists_begun_at: Elapsed) -> Result<(), TooEarly> {
        match self.standing {
            LedgerState::Serving { .. } => Ok(()),
            LedgerState::Standby => Err(TooEarly { until: None }),
            LedgerState::Waiting { until, .. } if lists_begun_at < until => {
                Err(TooEarly { until: Some(until) })
            }
            LedgerState::Waiting { generation, .. } => {
                self.standing = LedgerState::Serving { generation };
                self.drop_ended_reservations(lists_begun_at);
                self.queue_refused_pods();
                self.price_all_again();
                self.recheck_all_binding_annotations();
                Ok(())
            }
        }
    }

    /// Removes all objects, because the API server has returned to earlier versions, for example after a restore from a
    /// backup: newer versions can no longer be recognized. While this replica leads, it waits and lists again, as after
    /// it acquired leadership.
    pub fn start_over(&mut self, now: Elapsed, longest: LongestBind) {
        let standing = match self.standing {
            LedgerState::Standby => LedgerState::Standby,
            LedgerState::Waiting { generation, .. } | LedgerState::Serving { generation } => {
                LedgerState::Waiting { generation, until: longest.after(now) }
            }
        };
        *self = Ledger {
            standing,
            renumberings: self.renumberings + 1,
            reservations: self.reservations.cleared(),
            ..Ledger::default()
        };
    }
}

impl fmt::Display for NotServing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this replica does not decide at the moment")
    }
}

impl std::error::Error for NotServing {}

impl fmt::Display for TooEarly {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.until {
            Some(_) => {
                "bind requests of the previous leader may still be in flight; the pods are listed again later"
            }
            None => "another replica leads",
        })
    }
}

impl std::error::Error for TooEarly {}
