//! Metric scaling: the rules by which samples of queries become replicas.

mod answering;
mod contest;
mod failing;
mod faults;
mod policies;
mod properties;
mod reasons;
mod requests;
mod table;
mod waking;
mod windows;
