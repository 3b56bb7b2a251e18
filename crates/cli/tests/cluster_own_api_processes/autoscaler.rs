//! `HorizontalAutoscaler` on a real API server, by the numbers of schedules and of a real Prometheus: on time, never
//! by an invalid number, never faster than it may, and not in contention with another writer.

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
