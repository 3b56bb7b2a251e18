//! `Placement` on a real API server: which clusters are selected and when, and in which order the decisions are
//! written, with failures and with other writers.

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
