//! The decisions: the actions of every policy at an instant, the reasons, and when they can next change.
//!
//! Each family of policies has a directory with the same files:
//!
//! | file | what it contains |
//! |---|---|
//! | `policy` | a checked policy |
//! | `gather` | the parts of the [`World`] that a decision depends on |
//! | `decide` | the decision: a pure function of the gathered input and `now` |
//! | `settle` | the policy state after the outcomes of the actions are known |
//! | `reasons` | the reasons for the decision, and their messages |
//! | `logic` | the family's implementation of [`PolicyFamily`] |
//!
//! Below the families are the types that they share: the parts of a decision ([`Decision`], [`Action`], [`Outcome`],
//! [`Reason`]), the [`Objects`] that all families read, and [`seam`], the interface of a family. Above the families are
//! the [`World`], the [`Agenda`] with the next turn of each policy, and [`turn`], in which policies act on a world one
//! after the other. The list of families is in `families` and nowhere else; a family depends on nothing above it, and
//! on no other family.
//!
//! In addition, [`units`] contains a ledger that counts pods in node units. Each change updates the ledger. The code
//! that schedules pods, prices them or explains their location reads it.
//!
//! Everything here is a function of its inputs: no clock, no I/O, no Kubernetes types, no hash order.
//! `almanac-api` converts the objects of users into the checked policies of this crate; the controllers and the
//! forecast apply the actions.
//!
//! # Layers
//!
//! Values come first (`identity`, `field`, `action`, `reason` and the like), then the objects, then [`seam`], then the
//! families. Above the families are `families`, which alone lists them, and the modules that combine their results and name no
//! family: `world`, `turn`, `beginning`, `islands`, `influence`, `writes`. `cargo xtask arch` fails on any other dependency.
//!
//! # How the families differ
//!
//! | | [`qos_levels`] | [`units`] | [`placement`] | [`metric_scaling`] |
//! |---|---|---|---|---|
//! | the policy | the lists of a `ConfigMap`; the last good form of each stays while the new one is bad | units in order, with caps and selectors | a checked placement | targets, bounds, behavior |
//! | the world contains | pods, nodes | pods bound to nodes | clusters, sets, bindings, scores, decisions | samples of queries, with their age |
//! | `gather` | pods, each with the list of its node | the policy, the scheduled pods, the replicas | candidate clusters, the counts of other placements | replicas, a sample for each metric |
//! | `decide` | the first open policy that matches, else the original | whether pods must be scheduled | filter, score, select | a recommendation, policies, bounds |
//! | actions | annotate a pod | schedule pods, in a forecast only | write decisions: additions before removals | set replicas |
//! | policy state | none: the pod's annotations contain it | the ledger | the last good decisions | recommendations and changes in their windows |
//! | `wake_at` | the next boundary | the end of a pod's deletion | an expiring score or toleration | the end of a window or period |
//!
//! A sample is an input like any other: the shell sends the query, and the world contains the result with its instant.
//! `gather` evaluates queries that select only published schedules. A binding to a unit is the only decision that a client
//! requests. It uses the same functions, under the lock of the ledger.
//!
//! # A new family
//!
//! A family has a directory here, in `almanac-api` and in `almanac-controllers`, invariants in `tests/checker` and rules
//! in `tests/decisions`. These lines change, and the compiler points at each line:
//!
//! | where | what |
//! |---|---|
//! | `family.rs`, `families.rs` | its variant, its state in the [`World`], its reason, record and slim form |
//! | `action.rs`, `field.rs`, `writes.rs` | each new kind of write, each new field |
//! | `objects.rs` | the objects that it changes, if other families read them too |
//! | `crates/api/src/kinds.rs`, `crates/api/src/families.rs` | a row for its kind, its descriptor |
//! | `crates/controllers/src/families.rs`, `crates/controllers/src/targets/writing.rs` | its controller, each new kind of write |
//! | `crates/forecast/src/simulation/given.rs` | a field that is a bound |
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | where a run starts | `beginning.rs`, and `begin` of the family |
//! | the reports about another field manager | `other_writer.rs` |
//! | filters, ranks and step shares of clusters | `placement/predicates.rs`, `placement/rank.rs`, `placement/shares.rs` |
//! | the order in which decisions are written | `placement/writes.rs` |
//! | the placements that an object requeues | `placement/index.rs`, `placement/gather.rs` |
//! | the queries that Almanac evaluates; limits of their patterns | `metric_scaling/evaluate.rs`, `metric_scaling/pattern.rs` |
//! | limits of a recommendation | `metric_scaling/limits.rs` |
//! | verdicts, bindings, deletion costs, preemption in node units | `units/ledger/verdicts.rs`, `units/ledger/binds.rs`, `units/ledger/costs.rs`, `units/ledger/preemption.rs` |
//! | the scheduling simulation of a forecast | `units/scheduling.rs` |
//! | the original QoS level of a pod | `objects/pod.rs` |
//! | the counted resources of a quota | `demand.rs` |

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
mod requested;
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
    Division, EndedScore, MetricRecommendation, ReplicaMaximum, RuleClockEffect, RuleExplanation,
    ScorePart, Unmatched, WeightedScores,
};
pub use beginning::{
    PriorWrite, RunStart, arrive, begin, continues, decides, keep_creation, known_until,
    start_as_new,
};
pub use decision::Decision;
pub use demand::{Allowance, Amounts, Bound, Bounding, Consumer, Demand, Quantified, Resource};
pub use exempt::{Exempt, Exemption, Exemptions, NamespaceMark};
pub use families::{EffectReason, Recorded, Slim, World, WorldFamily};
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
pub use requested::{Inactive, Requested};
pub use requests::{
    CurrentValue, Precedence, RankedRequest, Request, RequestOutcome, WinReason, rank,
};
pub use schedules::{RuleSchedule, Schedule};
pub use seam::{FamilyState, OpenDecision, Policies, PolicyFamily, PolicyObject, Replayed, View};
pub use target::{Target, TargetReference};
pub use value::Value;
