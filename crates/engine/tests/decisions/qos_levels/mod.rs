//! QoS levels of pods: whose level a policy sets, and that every pod gets its own back.

mod config_maps;
mod faults;
mod lists;
mod month;
mod originals;
mod pods;
mod reasons;
mod windows;
mod writes;
