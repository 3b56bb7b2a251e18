//! The rules, one by one.

mod binding;
mod binding_annotations;
mod changing;
mod costs;
mod counting;
mod leading;
mod limits;
mod preempting;
mod telling;
mod verdicts;
mod waking;
