//! The objects as users write them.
//!
//! | module | content |
//! |---|---|
//! | [`reading`], `tree` | from text to values with positions, as kubectl reads it |
//! | [`kinds`] | the known kinds: names and roles |
//! | [`objects`], [`definitions`] | the types of the kinds that we define, and their CRDs |
//! | `shape` | compares a value with the schema of its kind |
//! | [`checking`], `fields` | from an object to its slim form and findings |
//! | [`families`] | a descriptor of each family, from which all lists of families are derived, and the meaning of its objects |
//! | [`slim`] | the slim forms of what policies act on |
//! | [`finding`] | problems, with field, message and fix |
//! | [`status`] | the policy state of the engine as the status of an object |
//! | [`exempt`], [`policy_clock`] | the ignore annotation, the policy clock |
//! | `promql`, `schedule`, `go_duration`, `near_name` | queries, schedules, durations, and mistyped names |
//! | [`writing`] | from JSON to YAML |
//!
//! The behavior of policies is up to `almanac-engine`; printing findings and sending statuses is up to the callers.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | a field, its bounds, its columns in kubectl | `objects.rs` and the file of the kind in `objects`; then `cargo xtask crds` |
//! | a pattern or a format of a schema, in words | `shape/form.rs` |
//! | the CRDs of a hub | `objects/placement.rs`, `objects/hub.rs`, and `docs/compatibility.md` |
//! | which CRDs are printed, and which fields another CRD of a kind lacks | `definitions.rs`, `definitions/missing_fields.rs` |
//! | an error or a warning about one policy | the directory of its family in `families` |
//! | the same for a field of several kinds | `fields.rs`; for label selectors `fields/label_sets.rs` |
//! | the same for several objects | `checking/together.rs`, `checking/units_together.rs`, `checking/misnamed.rs` |
//! | a code, and its page | [A new code](#a-new-code) |
//! | which directories are places | `checking/places.rs` |
//! | the demand of pods, and what limits it | `checking/pod_demand.rs`, `slim/requirements.rs`, `reading/quotas.rs` |
//! | names, versions, short names and role of a kind, and which process watches it | `kinds.rs`; other groups: `kinds/built_in.rs`, `kinds/recognition.rs` |
//! | the controller of a kind; how an upstream controller is recognized | `families/controlled.rs`, `families/upstream.rs` |
//! | how text becomes a tree; the parts of a discovered file that are read | `reading.rs` and its directory; a document in a `ConfigMap`: `reading/embedded.rs` |
//! | templates that stand for pods | `reading/pods.rs` |
//! | queries of Prometheus | `promql.rs`; which of them need no Prometheus: `families/metric_scaling/query.rs` |
//! | keywords of other languages in an expression | `families/placement/cel_words.rs` |
//! | what expressions read of a cluster | `slim/hub.rs` |
//! | what the world keeps of a pod or node | `slim.rs`, `slim/units.rs` |
//! | a `ConfigMap` of the agent | `families/qos_levels.rs`, `objects/agent_config.rs` |
//! | a status, its conditions and messages, and how it is read back | `status.rs` and the file of the kind in `status`; another field manager: `status/other_writer.rs` |
//! | the nodes of `almanac up` | `checking/described_nodes.rs` |
//!
//! # A new code
//!
//! 1. `finding/codes.rs`: the code and its explanation. If the first sentence has 80 characters or more, it needs a title in
//!    `finding/titles.rs`.
//! 2. A case in `crates/cli/tests/offline/repositories/catalog.rs`, which fails for a code without one. For a code of `lint`: a
//!    file in `crates/cli/tests/offline/lint/found`.
//! 3. Its example in `docs/findings.md` is copied from `crates/cli/tests/offline/mistakes.txt` and
//!    `crates/cli/tests/offline/lint/found`. So write those first, and then the page:
//!    `ALMANAC_UPDATE=1 cargo test -p almanac --test offline`, then `ALMANAC_UPDATE=1 cargo test -p almanac-api`.
//!
//! # Tests
//!
//! Tests about text and findings are in `tests/objects`; errors and warnings of cron rules in
//! `tests/objects/rejections_of_cron_rules.rs`. `tests/cluster_own_api_definitions/own.rs` compares our verdicts on single fields
//! with those of a real API server: add a field of a kind there. `tests/objects/statuses/fingerprints.txt` has what releases have
//! stored.

pub mod checking;
pub mod definitions;
pub mod exempt;
pub mod families;
mod fields;
pub mod finding;
mod go_duration;
pub mod kinds;
pub mod kubernetes;
mod lenient;
mod near_name;
pub mod objects;
pub mod policy_clock;
mod promql;
pub mod reading;
mod schedule;
mod shape;
pub mod slim;
pub mod status;
mod tree;
pub mod writing;

pub use promql::is_same_query;
