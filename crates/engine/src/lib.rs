//! The decisions: the actions of every policy at an instant, the reasons, and when they can next change.
//!
//! Each family of policies has a directory with the same files:
//!
//! | file | what it contains |
//! |---|---|
//! | `policy` | a checked policy |
//! | `gather` | the parts of the [`World`] that a decision depends on |
//! | `decide` | the decision: a pure function of what was gathered and `now` |
//! | `settle` | the memory once the outcome of the actions is known |
//! | `reasons` | why it was decided that way, and how to say it |
//! | `logic` | the family's implementation of [`PolicyFamily`] |
//!
//! Below them is what the families share: the parts of a decision ([`Decision`], [`Action`], [`Outcome`], [`Reason`]),
//! the [`Objects`] that all of them read, and [`seam`], the interface of a family. Above them are the [`World`], the
//! [`Agenda`] of when each policy's next turn is due, and [`turn`], in which policies act on a world one after the
//! other. The list of families is in `families` and nowhere else; a family depends on nothing above it, and on no other
//! family.
//!
//! In addition, [`units`] has a ledger of which pods are counted in which node units. Each change updates it. The code
//! that schedules pods, prices them or explains their location reads it.
//!
//! Everything here is a function of its inputs: no clock, no I/O, no Kubernetes types, no hash order.
//! `almanac-api` turns what users write into the checked policies of this crate; the controllers and the
//! forecast carry the actions out.

mod action;
mod agenda;
mod answers;
mod beginning;
pub mod cron_scaling;
mod decision;
mod demand;
mod exempt;
mod families;
mod family;
mod few;
mod field;
mod fingerprint;
mod footprint;
mod identity;
mod influence;
mod islands;
mod labels;
pub mod metric_scaling;
mod number;
mod objects;
mod occurrence;
pub mod other_writer;
pub mod placement;
mod presumption;
pub mod qos_levels;
mod reach;
mod reason;
mod requests;
pub mod scheduled_capacity;
mod schedules;
pub mod seam;
mod target;
pub mod turn;
pub mod units;
mod value;
mod world;
mod writes;

pub use action::{Action, Outcome};
pub use agenda::Agenda;
pub use answers::{
    Answered, Division, EndedScore, ReplicasAskedFor, RuleClockEffect, RuleExplanation, ScorePart,
    Scored, Unmatched,
};
pub use beginning::{
    PriorWrite, RunStart, arrive, begin, begin_anew, decides, goes_on, keep_creation, known_until,
};
pub use decision::Decision;
pub use demand::{Allowance, Amounts, Bound, Bounding, Consumer, Demand, Quantified, Resource};
pub use exempt::{Exempt, Exemption, Exemptions, NamespaceMark};
pub use families::{EffectReason, Listed, Recorded, Slim, World};
pub use family::{Family, PolicyName};
pub use few::{NAMED, counted, few, few_joined};
pub use field::Field;
pub use fingerprint::{Fingerprint, NotAFingerprint};
pub use footprint::Footprint;
pub use identity::Identity;
pub use influence::Influences;
pub use islands::{islands, with_a_part_in};
pub use labels::{LabelRequirement, LabelSelector, Labels, ValueRequirement};
pub use objects::{Autoscaler, Objects, Workload};
pub use occurrence::Occurrence;
pub use presumption::{Consequence, Presumption};
pub use reach::{Reach, Unreachable};
pub use reason::{Reason, Verdict};
pub use requests::{CurrentValue, Precedence, RankedRequest, Request, RequestOutcome, rank};
pub use schedules::{RuleSchedule, Schedule};
pub use seam::{FamilyState, OpenDecision, Policies, PolicyFamily, PolicyObject, Replayed, View};
pub use target::{Target, TargetReference};
pub use value::Value;
