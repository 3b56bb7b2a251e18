//! Cron scaling: rules that set a workload's replicas or an autoscaler's bounds at given instants.
//!
//! # A turn
//!
//! The rule `3 * * * *` sets five replicas, and its turn is at 09:03:00:
//!
//! 1. `gather` finds the policy, its policy state, and its target with one replica.
//! 2. `decide` carries the policy state over to the current rules. A new or edited rule starts here, and an invalid
//!    rule is recorded as invalid. `decide` discards firings that a fast clock has handled. For each rule, it finds the
//!    latest firing. It records the firings between the last handled one and the latest one as missed, and also a firing
//!    that is too late. The others are due.
//! 3. `plan` finds the last due firing for each field, and combines them into one action: set the replicas to 5. The firing is
//!    pending now.
//! 4. If the write fails or its outcome is unknown, `settle` records an attempt and doubles the backoff. If it succeeds,
//!    `settle` records an execution, 09:03 is handled, and the effect is "replicas of shop: 5, by this rule".
//! 5. `wake_at` is 10:03, the next firing; after a failure it is the end of the backoff or the end of the allowed delay.
//!
//! # A new field of a rule
//!
//! | the field changes | it belongs in |
//! |---|---|
//! | which instants a rule has, such as a day that is skipped | `CronRule::firings`: the type is `almanac_calendar::Firings`, whose page lists the places to change. `decide`, `begin`, `memory`, `request`, `logic`, `reasons` and the checker call it; in `almanac-api` `coincidence.rs` and `max_delay.rs` of the family |
//! | what a firing sets | `policy.rs` (`DesiredScale`), `plan.rs` |
//! | how late a firing may be applied, or how often | `decide.rs`, `settle.rs`, `memory.rs` |
//! | whether a rule fires at all | as `suspended`: `decide.rs`, and `is_off` of `schedules` in `logic.rs` |
//! | what the status keeps | `memory.rs`, `execution.rs`, and `almanac-api` for its form |
//!
//! A field that changes what a rule sets, or when, is a part of the `fingerprint`: with a different value, the rule is new. A limit
//! or a delay is not a part. `reasons.rs` contains the message of each [`Cause`].
//!
//! `schedules` in `logic` returns the parts of a rule that `when` and `lint` display, and that `next` needs for its location and
//! clock changes. The entries of `next` are records of turns (`occurrence` in `execution.rs`), and their time zones are from `zones` in `logic`.

mod begin;
mod decide;
mod execution;
mod fingerprint;
mod gather;
mod held_back;
mod logic;
mod memory;
mod plan;
mod policy;
mod reasons;
mod request;
mod settle;
mod undone;

pub use decide::{Decision, decide, explain, next_firing, skip_stopped, wake_at};
pub use execution::{Applied, Execution, FiringOutcome, MAX_COUNTED, Recorded};
pub use fingerprint::{RuleContent, stored_fingerprint};
pub use gather::{Input, TargetState, gather};
pub use held_back::HeldBack;
pub use memory::{Memory, Pending, RuleMemory};
pub use policy::{Bounds, CronRule, CronScaling, DesiredScale, InvalidBounds, UnusableRule};
pub use reasons::{Cause, render};
pub use settle::{Settlement, settle};
pub use undone::{ANOTHER_WRITER, UndoneValue};

use decide::deadline;
pub use logic::{CronRules, FiringBacklog, SUPERSEDED, firing_backlog};
