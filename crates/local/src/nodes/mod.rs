//! Nodes without machines. The scheduler binds pods to them, and they do what a kubelet tells the
//! API server: they renew their leases, report bound pods as running and ready, and let deleted
//! pods go. Nothing runs in those pods.

mod heartbeat;
mod pods;
mod simulator;
mod spec;

pub use simulator::NodeSimulator;
pub use spec::{NodeSpec, OWNER as NODE_OWNER, TaintEffect};
