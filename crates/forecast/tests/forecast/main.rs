//! Requirements on forecasts: of hand-built worlds, and of random ones against an independent loop.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its builders too"
)]

mod agreement;
mod builders;
mod differences;
mod explaining;
mod fitting;
mod known_state;
mod requests;
mod series;
mod starting;
mod stepping;
mod taking_over;
mod unknown;
mod upcoming;
