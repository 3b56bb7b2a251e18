//! The controllers, which carry out the policies of a cluster. Every family goes through the same steps
//! (`fetch → gather → decide → apply → settle → status`).
//!
//! | module | what it does |
//! |---|---|
//! | [`process`] | the whole process |
//! | `terms` | waits for the lease, and runs one term after another |
//! | `term` | one term as the leader: lists everything afresh, then runs the policies' turns |
//! | `work_queue` | the work queue: whose turn it is |
//! | `reconciler` | one turn: the engine's, with writes to the API server between opening and closing it |
//! | `turn_hooks` | what a family adds to the turns of its policies |
//! | `cluster` | what is known of the cluster: the world, and the bookkeeping beside it |
//! | `policies` | watches the policy kinds |
//! | `targets` | finds, reads and writes what policies change |
//! | `status_writer` | writes statuses |
//! | `upstream` | notices the upstream controllers of the families, to which these are left |
//! | `leadership` | whether this process leads, and what it knows while it does |
//! | `list_progress` | how far the first list of a kind is |
//! | `not_ready` | counts the objects that need attention, by reason |
//! | [`namespaces`] | the namespaces that a process may be limited to |
//! | `exemptions` | watches which namespaces are exempt |
//! | `families` | the families there are, and what each does besides deciding |
//! | `metrics_producer`, `cron_federated_hpa`, `horizontal_autoscaler` | one family each: its status, Events and metrics |
//! | `placement` | the same, and the hub that it selects from and writes its decisions to |
//! | [`agent`] | the other process, which carries out the policies for levels of pods |
//! | [`extender`] | the process beside a kube-scheduler, which decides about units of nodes |
//! | [`webhook`] | the process that answers whether a policy may be applied |
//! | `served_schemas` | which fields the CRDs in the cluster lack, and statuses without them |
//! | [`scalable_node_group`] | groups of nodes, which are no policies: from watching them to their status |
//!
//! What a policy wants is decided in `almanac-engine`; how requests are sent is up to `almanac-shell`.

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
mod pace;
mod placement;
mod policies;
pub mod process;
mod reconciler;
pub mod scalable_node_group;
mod served_schemas;
mod status_writer;
mod targets;
mod term;
mod terms;
mod turn_hooks;
mod upstream;
pub mod webhook;
mod work_queue;
