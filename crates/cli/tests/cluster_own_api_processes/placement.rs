//! `Placement` on a real API server: the selected clusters, the instants of changes, and the order of the writes of
//! decisions, with failures and with other field managers.

mod expressions;
mod hands;
mod many;
mod mistakes;
mod neighbors;
mod observer;
mod reading;
mod restarts;
mod scores;
mod selecting;
pub(crate) mod stage;
mod what_if;
