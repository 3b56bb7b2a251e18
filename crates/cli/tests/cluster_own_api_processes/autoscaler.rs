//! `HorizontalAutoscaler` on a real API server, with the numbers of schedules and of a real Prometheus. An autoscaler
//! scales on time, never by an invalid number, never faster than allowed, and not in contention with another field
//! manager.

mod autoscalers;
mod boundary;
mod commands;
mod fight;
mod histories;
mod many;
mod queries;
mod readings;
mod restarts;
mod rivals;
mod storms;
mod tenants;
