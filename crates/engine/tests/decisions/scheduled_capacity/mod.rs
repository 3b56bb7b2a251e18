//! Scheduled capacity: the rules by which a schedule becomes a number.

mod faults;
mod golden_table;
mod next_value;
mod properties;
mod publishing;
mod reasons;
mod windows;
mod winner;
