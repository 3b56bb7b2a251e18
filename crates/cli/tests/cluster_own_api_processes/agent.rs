//! `almanac agent` on a real API server, with simulated nodes. Under every disturbance, each pod has the level that the
//! policies set, and gets its original back.

mod stage;
pub(crate) mod test_namespace;

mod clocks;
mod contests;
mod exempt;
mod failures;
mod hostile;
mod lists;
mod neighbors;
mod pods;
mod rejected;
mod restarts;
mod whole_cluster;
