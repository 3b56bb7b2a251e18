//! A real Kubernetes for the tests (started by `almanac-local`), and the other programs that tests need: Prometheus,
//! Helm, the program under test, a proxy that injects faults, and the audit log.
//!
//! A test requests one of three things:
//!
//! - [`on_shared_cluster`]: a namespace of its own, with nodes of its own, in a control plane that all such tests of
//!   the run share. Nearly every test uses this.
//! - [`on_own_control_plane`]: a control plane for this test alone, to kill its components or to
//!   change what belongs to no namespace.
//! - [`on_shared_plane`]: a namespace in a control plane that the tests of a file share, because they need the same
//!   additional programs.
//!
//! The name of a test file states its needs, so that a run can report in advance the tests that cannot run: see
//! [`Needs`]. [`environment`] lists the variables that affect the harness.
//!
//! The harness starts programs and reports results; it decides nothing about Almanac.

mod audit_log;
mod belongings;
mod bootstrapped;
pub mod environment;
mod fault_proxy;
mod helm_program;
mod memory_limit;
mod needs;
mod permits;
mod program;
mod prometheus;
mod prometheus_program;
mod service_account;
mod shared;
mod test_run;

pub use almanac_local::{
    Binaries, Built, Component, ControlPlane, ControlPlaneOptions, GoBuild, Kubectl, NodeSimulator,
    NodeSpec, Observation, PATIENCE, ProgramPort, TaintEffect, await_condition, client_for,
    write_private,
};
pub use audit_log::{AuditLog, AuditedRequest};
pub use fault_proxy::{Fault, FaultProxy, Injected, InjectedResponse, RecordedRequest};
pub use helm_program::provide_helm;
pub use memory_limit::MemoryLimit;
pub use needs::{Needs, Verdict};
pub use program::Program;
pub use prometheus::{Prometheus, PrometheusPlace};
pub use prometheus_program::provide_prometheus;
pub use service_account::ServiceAccountAccess;
pub use test_run::{
    OwnTest, SharedPlane, SharedTest, TestResult, lasting, on_own_control_plane, on_shared_cluster,
    on_shared_plane, on_this_machine,
};
