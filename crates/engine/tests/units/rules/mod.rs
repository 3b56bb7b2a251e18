//! The rules, one by one.

mod binding;
mod changing;
mod costs;
mod counting;
mod leading;
mod limits;
mod preempting;
mod telling;
mod verdicts;
mod waking;
