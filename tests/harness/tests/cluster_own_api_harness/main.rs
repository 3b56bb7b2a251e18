//! API servers that belong to a single test: the audit log, faults and watches.

mod audit;
mod faults;
mod version;
mod watches;
