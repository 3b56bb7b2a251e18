//! The controllers, which reconcile the policies of a cluster. Every family has the same steps (`fetch → gather →
//! decide → apply → settle → status`).
//!
//! | module | what it does |
//! |---|---|
//! | [`process`] | the whole process |
//! | [`runtime`] | the common part of all processes: waits for the Lease, and runs one term after another |
//! | `term` | one term as the leader: lists everything again, then runs the policies' turns |
//! | `work_queue` | the work queue, which schedules turns |
//! | `reconciler` | one turn: the engine's, with writes to the API server between opening and closing it |
//! | `turn_hooks` | what a family adds to the turns of its policies |
//! | `cluster` | the cluster state: the world, and its bookkeeping |
//! | `policies` | watches the policy kinds |
//! | `targets` | finds, reads and writes the targets of policies |
//! | `status_writer` | writes statuses |
//! | `upstream` | detects the upstream controllers of the families, to which the families are then left |
//! | `leadership` | whether this process leads, and its state as the leader |
//! | `list_progress` | the first list of a kind, and waiting for it |
//! | `not_ready` | counts the objects that need attention, by reason |
//! | [`namespaces`] | the namespaces that a process may be limited to |
//! | `exemptions` | watches which namespaces are exempt |
//! | `families` | the families, and the tasks of each apart from deciding |
//! | `metrics_producer`, `cron_federated_hpa`, `horizontal_autoscaler` | one family each: its status, Events and metrics |
//! | `placement` | a family, too, with the hub that contains its clusters and decisions |
//! | [`agent`] | the agent process, which reconciles the policies for QoS levels of pods |
//! | [`extender`] | the process next to a kube-scheduler, which decides about node units |
//! | [`webhook`] | the process that checks whether a policy may be applied |
//! | `served_schemas` | the fields that the CRDs in the cluster lack, and statuses without these fields |
//! | `server_version` | the version of the API server, which checks depend on |
//! | [`scalable_node_group`] | node groups, which are not policies: from watching them to their status |
//!
//! `almanac-engine` decides the desired state of a policy; `almanac-shell` sends the requests.
//!
//! # A turn in a process
//!
//! ```text
//!    acquires the Lease ──▶ a term, behind a fence: lists, then watches
//!                             │
//!         ┌──── world, behind one lock: policies and targets, filled by watches ◀────┐
//!         │ turn queue: policies that are due or have changed                        │
//!         ▼                                                                          │
//!    fetch the target ──▶ open ──▶ apply ──▶ close ──────────────────────────────────┘
//!    (known, or read)   (lock)    (PATCH)    (lock)
//!                                               │ status queue: policies with records
//!                                               ▼
//!                                   one PATCH for all records, then Events
//! ```
//!
//! - **Terms.** A new leader lists everything, and so never decides by stale data. State that a process could not write to a
//!   status survives its terms in memory. One term runtime has lists, watches, leader election, the fence and shutdown for the
//!   controller, the agent, the extender and the webhook.
//! - **Policy state** in the world is authoritative while a process leads. The status is read when an object first appears.
//!   The generation shows an edit or, for a `ConfigMap`, the content.
//! - **No policy has two turns at the same time**, and policies that write one object have their turns one after the other, at one
//!   instant in the order of their names.
//! - **Two queues.** A status that cannot be written delays no firing. One write contains all changes since the previous write.
//! - **Between firings** a rule writes nothing. If another field manager replaces its value within two minutes, an Event reports that.
//! - **A lost response** needs no special case. The next attempt finds the target as desired, writes nothing, and records success.
//! - **Stopped by annotation:** turns record what has fallen due, and neither read nor write targets. Queued writes are withdrawn.
//! - **Targets.** Usual kinds are watched once a policy names one. Any other kind is found by discovery and read when needed. Each
//!   kind has a lane of its own, so a kind that does not respond occupies only a few turns.
//! - **Published values** are not part of a turn. They are evaluated at the scrape, by the process whose fence is open.
//! - **A hub** is watched only where placements are reconciled. No placement is decided before each kind of the hub is listed completely.
//! - **Node groups** have a work queue of their own, and no family: nothing about them depends on time.
//! - **Node units** are decided on request. The leader responds from one ledger, and the other replicas forward requests to the leader.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | a turn; what a family adds to it | `reconciler.rs`, `turn_hooks.rs`; without the lock: `reconciler/costly.rs` |
//! | a family's status, Events and metrics | its directory: the status in its root file, Events in `report`, counts in `metrics` |
//! | a metric of the agent, the extender or the webhook | `agent/metrics.rs`, `extender/metrics.rs`, `webhook/metrics.rs`; gauges: `agent/gauges.rs`, `extender/gauges.rs` |
//! | a metric of a family, gauges too | `metrics` in its directory; published numbers: `metrics_producer/published.rs` |
//! | which policies of one target `Ready` names | `cluster/rivals.rs`, by the fields that each writes |
//! | how a target is found, read, written | `targets.rs` and its directory |
//! | which changes of a hub wake placements, and how soon | `placement/follower.rs`, `report_rate_limit.rs` |
//! | how decisions are written; retries | `placement/writer.rs`, `placement/step.rs`, `placement/records.rs` |
//! | node groups, and their providers | `scalable_node_group.rs`, `scalable_node_group/provider.rs` |
//! | two agents on one pod | `agent/contest.rs` |
//! | requests of a kube-scheduler; bindings; forwarding | `extender/protocol.rs`, `extender/filtering.rs`, `extender/binding.rs`, `extender/peers.rs` |
//! | deletion costs and statuses of node units | `extender/pod_writer.rs`, `extender/statuses.rs` |
//! | admission | `webhook/admission.rs` |
//! | upstream controllers in the cluster | `upstream.rs` |
//!
//! `agent` and `extender` contain the parts of the families `qos_levels` and `units` in this crate.
//!
//! # Tests of a metric
//!
//! | test | what it requires |
//! |---|---|
//! | `tests` of this crate, such as `tests/agent.rs` | the number |
//! | `crates/cli/tests/cluster_own_api_processes/prometheus.rs` | `docs/metrics.md` lists exactly the exported metrics, and explains each label; each query of the dashboard has series, unless its metric is in `EMPTY` |
//! | `crates/cli/tests/offline/documents.rs` | each metric is in the dashboard or an alert; both name listed metrics only; each panel queries `${datasource}`; `docs/metrics.md` has the alerts of `deploy/prometheus/alerts.yaml` word for word |
//!
//! Permissions are in `deploy`; tests compare them with the requests that are sent.

pub mod agent;
#[cfg(test)]
#[path = "../tests/support/bench.rs"]
mod bench;
mod cluster;
mod cron_federated_hpa;
mod exemptions;
pub mod extender;
mod families;
mod horizontal_autoscaler;
mod leadership;
mod list_progress;
mod metrics_producer;
pub mod namespaces;
mod not_ready;
mod off_the_runtime;
mod placement;
mod policies;
pub mod process;
mod reconciler;
mod report_rate_limit;
pub mod runtime;
pub mod scalable_node_group;
mod served_schemas;
mod server_version;
mod status_writer;
mod targets;
mod term;
mod turn_hooks;
mod upstream;
pub mod webhook;
mod work_queue;
