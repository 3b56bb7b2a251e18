//! Who may reserve: whoever has the lead, once it knows everything that was bound under the lead before.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::Ledger;

/// Whether a ledger decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Standing {
    /// It does not have the lead.
    #[default]
    Standby,
    /// It has the lead, and bindings of the lead before may still be under way.
    Waiting {
        /// The generation of its lead.
        generation: u64,
        /// Lists that are begun from then on have them.
        until: Timestamp,
    },
    /// It decides.
    Serving {
        /// The generation of its lead.
        generation: u64,
    },
}

/// A list was begun too early to have everything that was bound under the lead before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooEarly {
    /// When it may be begun; `None` if the lead is not there.
    pub until: Option<Timestamp>,
}

impl Ledger {
    /// Whether it decides.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// The lead is taken. Nobody has a request to bind under way that was begun under the lead before for longer than
    /// `longest_bind`; until then it is waited.
    pub fn take_lead(&mut self, generation: u64, now: Timestamp, longest_bind: SignedDuration) {
        let until = now.saturating_add(longest_bind).unwrap_or(Timestamp::MAX);
        self.drop_all_leases();
        self.standing = Standing::Waiting { generation, until };
    }

    /// The lead is lost, or may be.
    pub fn lose_lead(&mut self) {
        self.drop_all_leases();
        self.standing = Standing::Standby;
    }

    /// Everything is in that a quorum read of all policies, nodes and pods has found, the earliest of which was begun at
    /// that instant. From now on it decides.
    pub fn serve(&mut self, lists_begun_at: Timestamp) -> Result<(), TooEarly> {
        match self.standing {
            Standing::Serving { .. } => Ok(()),
            Standing::Standby => Err(TooEarly { until: None }),
            Standing::Waiting { until, .. } if lists_begun_at < until => {
                Err(TooEarly { until: Some(until) })
            }
            Standing::Waiting { generation, .. } => {
                self.drop_ended_reservations(lists_begun_at);
                self.let_all_wait();
                self.price_all_again();
                self.standing = Standing::Serving { generation };
                Ok(())
            }
        }
    }
}

impl fmt::Display for TooEarly {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(
                formatter,
                "pods may still be bound by the replica that led before; they can be listed from {until}"
            ),
            None => formatter.write_str("another replica leads"),
        }
    }
}

impl std::error::Error for TooEarly {}
