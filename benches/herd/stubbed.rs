//! Against the stub: a herd limited only by the controller.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use almanac_stub::Stub;
use anyhow::{Context as _, Result};
use clap::Args;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::controller::{Controller, WriteLimits};
use crate::figures::{count, load, spread};
use crate::objects::firing;
use crate::processes::Processes;
use crate::stub::Server;

#[derive(Args)]
pub(crate) struct Stubbed {
    /// The number of rules
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rules: usize,

    /// The time between the start of the controller and the firing
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    lead: i64,

    #[command(flatten)]
    limits: WriteLimits,
}

impl Stubbed {
    pub(crate) async fn run(&self, program: &Path) -> Result<()> {
        let server = Server::start(self.rules).await?;
        let at = firing(0)?;
        // The first statuses are written without a limit, because they are not part of the measurement.
        let unlimited =
            WriteLimits { writes_at_once: 32, writes_per_second: None, write_burst: None };
        let shown = at.checked_sub(SignedDuration::from_hours(2))?;
        let controller = Controller::start(program, server.kubeconfig(), shown, &unlimited)?;
        let armed = controller.await_armed(self.rules).await?;
        let recorded = controller.await_statuses(count(self.rules)).await?;
        println!("{} rules (load {})", self.rules, load()?);
        println!("first start: armed after {:.2} s", armed.as_secs_f64());
        println!("  all statuses written after {:.2} s", recorded.as_secs_f64());
        controller.stop().await?;
        server.stub.clear_requests();

        let shown = at.checked_sub(SignedDuration::from_secs(self.lead))?;
        let controller = Controller::start(program, server.kubeconfig(), shown, &self.limits)?;
        let armed = controller.await_armed(self.rules).await?;
        println!("start with nothing to write: armed after {:.2} s", armed.as_secs_f64());
        let boundary = controller.on_this_machine(at)?;
        let rest = boundary.duration_since(Timestamp::now()) - SignedDuration::from_millis(500);
        tokio::time::sleep(Duration::try_from(rest).context("the rules were armed too late")?)
            .await;
        println!("  at rest: memory {}", controller.memory()?);
        let ours = [("almanac", controller.id()?), ("the stub", std::process::id())];
        let processes = Processes::look(&ours)?;
        controller.await_statuses(count(self.rules)).await?;
        let used = processes.line()?;
        // Wait for the last Events.
        tokio::time::sleep(Duration::from_secs(2)).await;
        println!("  memory {}", controller.memory()?);
        controller.stop().await?;
        print(&server.stub, boundary, &used)
    }
}

fn print(stub: &Stub, boundary: Timestamp, used: &str) -> Result<()> {
    let (now, read_at) = (Timestamp::now(), Instant::now());
    for (what, path) in [("applied", "/scale"), ("recorded", "/status")] {
        // A rejected request was retried, so only the last request for an object is evaluated.
        let patches =
            stub.requests_where(|it| it.method == Method::PATCH && it.path.ends_with(path));
        let last: BTreeMap<&str, Instant> = patches.iter().map(|it| (&*it.path, it.at)).collect();
        let lags: Result<Vec<Duration>> = last
            .values()
            .map(|at| {
                let at = now.checked_sub(SignedDuration::try_from(read_at - *at)?)?;
                Duration::try_from(at.duration_since(boundary))
                    .context("a rule was applied too early")
            })
            .collect();
        println!("scheduled to {what}: {} ({} in all)", spread(lags?), last.len());
    }
    println!("  processor time {used}");
    println!("  requests from the second start on:");
    let mut requests: BTreeMap<String, usize> = BTreeMap::new();
    for request in stub.requests() {
        let verb = if request.is_watch() { "WATCH" } else { request.method.as_str() };
        let what = request.path.rsplit('/').next().unwrap_or_default();
        *requests.entry(format!("{verb} {what}")).or_default() += 1;
    }
    for (request, times) in requests {
        println!("    {request}: {times}");
    }
    Ok(())
}
