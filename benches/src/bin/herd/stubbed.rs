//! Against the stub: a herd with nothing in its way but the controller and its own limits.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use jiff::{SignedDuration, Timestamp};

use crate::controller::{Controller, WriteLimits};
use crate::figures::{count, load, spread};
use crate::objects::firing;
use crate::processes::Processes;
use crate::stub::{Store, Stub};

#[derive(Args)]
pub(crate) struct Stubbed {
    /// How many rules
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rules: usize,

    /// How long before the firing the controller is started
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    lead: i64,

    #[command(flatten)]
    limits: WriteLimits,
}

impl Stubbed {
    pub(crate) async fn run(&self, program: &Path) -> Result<()> {
        let stub = Stub::start(self.rules).await?;
        let at = firing(0)?;
        // The first statuses are written without a limit: they are not what is measured.
        let unlimited =
            WriteLimits { writes_at_once: 32, writes_per_second: None, write_burst: None };
        let shown = at.checked_sub(SignedDuration::from_hours(2))?;
        let controller = Controller::start(program, stub.kubeconfig(), shown, &unlimited)?;
        let armed = controller.await_armed(self.rules).await?;
        let written = controller.await_statuses(count(self.rules)).await?;
        println!("{} rules (load {})", self.rules, load()?);
        println!("first start: armed after {:.2} s", armed.as_secs_f64());
        println!("  all statuses written after {:.2} s", written.as_secs_f64());
        controller.stop().await?;
        clear(&stub.store);

        let shown = at.checked_sub(SignedDuration::from_secs(self.lead))?;
        let controller = Controller::start(program, stub.kubeconfig(), shown, &self.limits)?;
        let armed = controller.await_armed(self.rules).await?;
        println!("start with nothing to write: armed after {:.2} s", armed.as_secs_f64());
        let boundary = controller.on_this_machine(at)?;
        let rest = boundary.duration_since(Timestamp::now()) - SignedDuration::from_millis(500);
        tokio::time::sleep(Duration::try_from(rest).context("it was armed too late")?).await;
        println!("  at rest: memory {}", controller.memory()?);
        let ours = [("almanac", controller.id()?), ("the stub", std::process::id())];
        let processes = Processes::look(&ours)?;
        controller.await_statuses(count(self.rules)).await?;
        let used = processes.line()?;
        // What is told last goes on for a while.
        tokio::time::sleep(Duration::from_secs(2)).await;
        println!("  memory {}", controller.memory()?);
        controller.stop().await?;
        print(&stub.store, boundary, &used)
    }
}

fn clear(store: &Store) {
    let mut held = store.lock();
    held.applied.clear();
    held.recorded.clear();
    held.requests.clear();
}

fn print(store: &Store, boundary: Timestamp, used: &str) -> Result<()> {
    let held = store.lock();
    for (what, times) in [("applied", &held.applied), ("recorded", &held.recorded)] {
        let lags: Result<Vec<Duration>> = times
            .values()
            .map(|at| Duration::try_from(at.duration_since(boundary)).context("it was too early"))
            .collect();
        println!("scheduled to {what}: {} ({} in all)", spread(lags?), times.len());
    }
    println!("  processor time {used}");
    println!("  requests from the second start on:");
    for (request, times) in &held.requests {
        println!("    {request}: {times}");
    }
    Ok(())
}
