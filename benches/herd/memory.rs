//! The memory of armed rules, after all statuses are written and the controller is idle.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use jiff::SignedDuration;

use crate::controller::{Controller, WriteLimits};
use crate::figures::{count, load};
use crate::objects::firing;
use crate::stub::Server;

const IDLE_AFTER: Duration = Duration::from_secs(5);

#[derive(Args)]
pub(crate) struct Memory {
    /// The number of rules; a run for each, two starts in each
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "0,1000,10000,50000")]
    rules: Vec<usize>,

    #[command(flatten)]
    limits: WriteLimits,
}

impl Memory {
    pub(crate) async fn run(&self, program: &Path) -> Result<()> {
        let mut empty: [Option<u64>; 2] = [None, None];
        for rules in &self.rules {
            let server = Server::start(*rules).await?;
            println!("{rules} rules (load {})", load()?);
            for (start, empty) in
                ["first start", "start with nothing to write"].iter().zip(&mut empty)
            {
                let shown = firing(0)?.checked_sub(SignedDuration::from_hours(2))?;
                let controller =
                    Controller::start(program, server.kubeconfig(), shown, &self.limits)?;
                let armed = controller.await_armed(*rules).await?;
                if *start == "first start" {
                    controller.await_statuses(count(*rules)).await?;
                }
                tokio::time::sleep(IDLE_AFTER).await;
                let now = controller.resident_memory()?;
                let empty = *empty.get_or_insert(now);
                #[expect(clippy::cast_precision_loss, reason = "it is printed with two digits")]
                let each = now.saturating_sub(empty) as f64 / count((*rules).max(1)) / 1024.0;
                let armed = armed.as_secs_f64();
                println!(
                    "  {start}: armed after {armed:.2} s, {}, {each:.2} KB a rule",
                    controller.memory()?
                );
                controller.stop().await?;
            }
        }
        Ok(())
    }
}
