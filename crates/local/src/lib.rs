//! A real Kubernetes on this machine: etcd, kube-apiserver, kube-controller-manager and kube-scheduler as processes on
//! loopback, and nodes that are simulated.
//!
//! This crate finds or builds the programs, starts them, waits until they are ready, and stops them. The callers use
//! the cluster. Errors are for users; no caller distinguishes them, so they have no types.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | the order in which the programs start and stop | `control_plane.rs` |
//! | their flags, ports and certificates | `flags.rs`, `ports.rs`, `pki.rs` |
//! | the selection and the build of the programs | `binaries.rs`, `go_build.rs` |
//! | the supported versions of Kubernetes | `kubernetes_version.rs`; the Go modules are `cluster` in this crate |
//! | the data that is kept from run to run | `data_folder.rs`; a run of tests: `run_folder.rs` |
//! | the properties of simulated nodes, and the end of their pods | `nodes/spec.rs`, `nodes/kubelet.rs`, `nodes/pods.rs` |
//! | groups of simulated nodes | `nodes/groups.rs` |
//!
//! A process never outlives the program that started it. Every wait has a condition, never a time alone.

mod audit;
mod await_condition;
mod binaries;
mod carried_sources;
mod client;
mod component;
mod control_plane;
mod data_folder;
pub mod environment;
mod flags;
mod go_build;
mod kubectl;
mod kubernetes_version;
pub mod log_tail;
mod nodes;
mod options;
mod pki;
mod ports;
mod process;
mod program_port;
mod question;
pub mod run_folder;
mod whole_file;

pub use audit::WRITE_VERBS;
pub use await_condition::{Observation, PATIENCE, await_condition};
pub use binaries::Binaries;
pub use client::{client_for, client_from};
pub use component::Component;
pub use control_plane::{ControlPlane, ControlPlaneDir};
pub use data_folder::{DataFolder, free_bytes};
pub use go_build::{BOOTSTRAPPED, Built, GoBuild, print_progress};
pub use kubectl::Kubectl;
pub use kubernetes_version::KubernetesVersion;
pub use nodes::{
    NODE_GROUP, NODE_GROUP_NAMESPACE, NODE_OWNER, NodeGroup, NodeGroups, NodeSimulator, NodeSpec,
    Resized, TaintEffect,
};
pub use options::ControlPlaneOptions;
pub use pki::write_private;
pub use ports::ReservedPort;
pub use process::Process;
pub use program_port::ProgramPort;
pub use question::{answer_of, await_answer_of, question_to};
pub use run_folder::RunFolder;
pub use whole_file::write_whole;
