//! The programs that the harness starts along with a shared API server.

mod fault_proxy;
mod prometheus;
mod service_accounts;
