//! The processes of `almanac` on separate API servers. Each module tests one process, or one promise about the
//! processes. `tests/support` has the common setup.

#[path = "../support/controller/mod.rs"]
mod controller;
#[path = "../support/dashboard/mod.rs"]
mod dashboard;
#[path = "../support/documented/mod.rs"]
mod documented;
#[path = "../support/harbor/mod.rs"]
mod harbor;
#[path = "../support/live/mod.rs"]
mod live;
#[path = "../support/manifests/mod.rs"]
mod manifests;
#[path = "../support/reading/mod.rs"]
mod reading;
#[path = "../support/rights/mod.rs"]
mod rights;
#[path = "../support/running/mod.rs"]
mod running;
#[path = "../support/stage/mod.rs"]
mod stage;

mod agent;
mod agent_rights;
mod autoscaler;
mod deploy_rights;
mod discovery;
mod extender_rights;
mod faults;
mod forecast_comes_true;
mod gitops;
mod leadership;
mod left_alone;
mod live_commands;
mod live_rights;
mod node_groups;
mod on_time;
mod placement;
mod placement_stories;
mod placement_watcher;
mod pod_attacks;
mod prometheus;
mod published;
mod side_by_side;
mod stored;
