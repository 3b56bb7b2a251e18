//! `almanac extender` with a stock kube-scheduler, on a real control plane with simulated nodes: as in the manifest
//! of the second scheduler, with its configuration, its arguments and its permissions.

mod attacked;
mod calling;
mod counting;
mod design;
mod export;
mod forecast_comes_true;
mod herd;
mod in_order;
mod keeping;
mod page;
mod preempting;
mod rights;
mod scene;
mod scheduling;
mod stage;
mod static_pod;
mod tenants;
mod watched;
