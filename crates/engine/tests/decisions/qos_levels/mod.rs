//! QoS levels of pods: the pods whose level a policy sets, and the restoration of every original.

mod config_maps;
mod faults;
mod lists;
mod month;
mod originals;
mod pods;
mod reasons;
mod windows;
mod writes;
