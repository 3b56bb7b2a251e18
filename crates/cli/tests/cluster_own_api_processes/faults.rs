//! `almanac controller` with faults: it is killed, paused, disconnected, rejected and delayed, on a
//! real API server. A firing is still applied once and recorded once.

mod replica;

mod attacks;
mod boundaries;
mod by_hand;
mod churn;
mod crowd;
mod hostile_clients;
mod hostile_queries;
mod memory;
mod outages;
mod pauses;
mod quiet;
mod refusals;
mod restarts;
mod starts;
mod statuses;
mod stopping;
mod waiting;
