//! API servers that a test has for itself: the audit log, faults and watches.

mod audit;
mod faults;
mod version;
mod watches;
