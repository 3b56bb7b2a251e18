//! Cron scaling: the rules by which firings become writes and records.

mod beginning;
mod bounds;
mod broken_rules;
mod clock;
mod editing;
mod faults;
mod histories;
mod lateness;
mod ledger;
mod one_write;
mod properties;
mod random;
mod reasons;
mod retries;
mod suspending;
