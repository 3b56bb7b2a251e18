//! `almanac controller` when things go wrong: it is killed, paused, cut off, refused and kept
//! waiting, on a real API server. A firing is carried out once and recorded once all the same.

#[path = "../controller/mod.rs"]
mod controller;

mod replica;

mod attacks;
mod memory;
mod outages;
mod pauses;
mod quiet;
mod refusals;
mod restarts;
mod starts;
mod statuses;
mod stopping;
mod strangers;
mod waiting;
