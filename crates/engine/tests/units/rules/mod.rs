//! The rules, one by one.

mod binding;
mod binding_annotations;
mod changing;
mod costs;
mod counting;
mod explaining;
mod leading;
mod limits;
mod preempting;
mod verdicts;
mod waking;
