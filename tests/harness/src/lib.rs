//! A real Kubernetes for the tests: etcd, kube-apiserver, kube-controller-manager and
//! kube-scheduler as processes on loopback, nodes that are simulated, and a Prometheus.
//!
//! A test asks for one of two things:
//!
//! - [`on_shared_cluster`]: a namespace of its own, with nodes of its own, in a control plane that
//!   all such tests of the run share. This is what nearly every test wants.
//! - [`on_own_control_plane`]: a control plane for this test alone, to kill its components or to
//!   change what belongs to no namespace.
//!
//! The file a test stands in says what it needs, so that a run can say beforehand which tests it
//! cannot run: see [`Needs`]. What the environment can do to all this is listed in [`environment`].
//!
//! The harness starts things and reports; it decides nothing about Almanac.

mod audit_log;
mod await_condition;
mod belongings;
mod binaries;
mod component;
mod control_plane;
pub mod environment;
mod fault_proxy;
mod flags;
mod go_build;
mod kubectl;
mod log_tail;
mod memory_limit;
mod needs;
mod nodes;
mod pki;
mod ports;
mod process;
mod program;
mod program_port;
mod prometheus;
mod prometheus_program;
mod run_folder;
mod service_account;
mod shared;
mod test_run;

pub use audit_log::{AuditLog, AuditedRequest};
pub use await_condition::{Observation, PATIENCE, await_condition};
pub use binaries::Binaries;
pub use component::Component;
pub use control_plane::{ControlPlane, ControlPlaneOptions, client_for};
pub use fault_proxy::{Answer, Fault, FaultProxy, Injected, RecordedRequest};
pub use go_build::{Built, GoBuild};
pub use kubectl::Kubectl;
pub use memory_limit::MemoryLimit;
pub use needs::{Needs, Verdict};
pub use nodes::{NodeSimulator, NodeSpec, TaintEffect};
pub use program::Program;
pub use prometheus::Prometheus;
pub use prometheus_program::provide_prometheus;
pub use service_account::ServiceAccountAccess;
pub use test_run::{OwnTest, SharedTest, TestResult, on_own_control_plane, on_shared_cluster};
