//! Cron scaling: the rules by which firings become writes and records.

mod beginning;
mod bounds;
mod broken_rules;
mod clock;
mod editing;
mod exempt;
mod faults;
mod histories;
mod lateness;
mod ledger;
mod once_failed;
mod one_write;
mod properties;
mod random;
mod reasons;
mod recorded;
mod requests;
mod retries;
mod stopping;
mod suspending;
mod undone;
mod unreachable;
