//! Nodes without machines. The scheduler binds pods to them, and they report to the API server as a
//! kubelet does. They renew their leases, report bound pods as running and ready, report pods of
//! jobs as finished after a while, and delete pods that are marked for deletion. Nothing runs in
//! those pods.

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
