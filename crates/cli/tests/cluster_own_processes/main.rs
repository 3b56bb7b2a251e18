//! The processes of `almanac` on separate control planes, with kube-scheduler and the controller manager.

#[path = "../support/controller/mod.rs"]
mod controller;
#[path = "../support/documented/mod.rs"]
mod documented;
#[path = "../support/manifests/mod.rs"]
mod manifests;
#[path = "../support/reading/mod.rs"]
mod reading;
#[path = "../support/rights/mod.rs"]
mod rights;
#[path = "../support/running/mod.rs"]
mod running;
#[path = "../support/terminal/mod.rs"]
mod terminal;

mod deploy;
mod extender;
mod first_policy;
mod node_groups;
mod placement;
mod qos_levels;
mod up;
mod webhook;
