//! Pods scheduled to units without a cluster: the rules of a forecast.

mod files;
mod filling;
mod random;
mod shop;
