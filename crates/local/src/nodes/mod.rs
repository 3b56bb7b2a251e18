//! Nodes without machines. The scheduler binds pods to them, and they do what a kubelet tells the
//! API server: they renew their leases, report bound pods as running and ready, those of jobs as
//! finished after a while, and let deleted pods go. Nothing runs in those pods.

mod described;
mod groups;
mod heartbeat;
mod kubelet;
mod pods;
mod simulator;
mod spec;

pub use groups::{NODE_GROUP, NODE_GROUP_NAMESPACE, NodeGroup, NodeGroups, Resized};
pub use simulator::NodeSimulator;
pub use spec::{NodeSpec, OWNER as NODE_OWNER, TaintEffect};
