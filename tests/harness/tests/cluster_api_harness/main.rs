//! What the harness starts beside a shared API server.

mod fault_proxy;
mod prometheus;
mod service_accounts;
