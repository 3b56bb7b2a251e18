//! Nodes without machines. The scheduler binds pods to them, and they do what a kubelet tells the
//! API server: they renew their leases, report bound pods as running and ready, and let deleted
//! pods go. Nothing runs in those pods.

mod groups;
mod heartbeat;
mod pods;
mod simulator;
mod spec;

pub use groups::{NODE_GROUP, NODE_GROUP_NAMESPACE, NodeGroup, NodeGroups, Resized};
pub use simulator::NodeSimulator;
pub use spec::{NodeSpec, OWNER as NODE_OWNER, TaintEffect};
