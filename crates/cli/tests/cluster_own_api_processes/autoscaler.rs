//! `HorizontalAutoscaler` on a real API server, by the numbers of schedules and of a real Prometheus: on time,
//! never by a number that is none, never faster than it may, and not against another writer.

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
