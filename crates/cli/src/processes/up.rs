//! `almanac up`: all of Almanac on this machine, with a real control plane and simulated nodes.
//!
//! This module defines the order of the start and the shutdown. `almanac-local` defines the control plane and the
//! location of its data; the controllers are separate processes, as in a cluster.

mod admission;
mod arguments;
mod definitions;
mod demo;
mod documents;
mod event_feed;
mod next_actions;
mod nodes_file;
mod persisted_clock;
mod programs;
mod running_cluster;
mod terminal;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use almanac_local::{ProgramPort, free_bytes};
use almanac_shell::shutdown;
use anyhow::Context as _;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

pub(crate) use self::arguments::UpArguments;
use self::documents::Documents;
use self::event_feed::EventFeed;
use self::next_actions::NextActions;
use self::persisted_clock::PersistedClock;
use self::programs::Programs;
use self::running_cluster::RunningCluster;
use self::terminal::Terminal;

/// The interval of the checks that everything still runs.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The free space in bytes below which the disk is full.
const MIN_FREE_BYTES: u64 = 16 * 1024 * 1024;
/// The period of the listed actions, in minutes of the wall clock.
const LISTED_MINUTES: i64 = 10;
/// The stack of a main thread on Linux: every other command reads a kubeconfig on such a stack.
const STACK_BYTES: usize = 8 << 20;

/// The running parts of `almanac up`.
struct Session {
    // Drops the processes before the control plane that they use.
    programs: Programs,
    event_feed: EventFeed,
    clock: PersistedClock,
    next_actions: NextActions,
    running_cluster: RunningCluster,
}

pub(crate) fn run(
    arguments: &UpArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let at = arguments.at(now)?;
    let documents = match Documents::check(arguments, at.unwrap_or(now), output)? {
        Ok(documents) => documents,
        Err(code) => return Ok(code),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .context("failed to start the async runtime")?;
    let terminal = Terminal::new(output, arguments.quiet);
    let ended = runtime.block_on(async {
        let end = CancellationToken::new();
        shutdown::on_signal(end.clone()).context("failed to listen for signals")?;
        let started = Instant::now();
        // If a signal cancels the start, the drop stops all running parts.
        let session = tokio::select! {
            biased;
            () = end.cancelled() => return Ok(()),
            session = start(arguments, at, &documents, &terminal) => session?,
        };
        session.run(&documents, started.elapsed(), &terminal, &end).await
    });
    // A running build ends with this process.
    runtime.shutdown_background();
    ended.map(|()| ExitCode::SUCCESS)
}

async fn start(
    arguments: &UpArguments,
    at: Option<Timestamp>,
    documents: &Documents,
    terminal: &Terminal<'_>,
) -> anyhow::Result<Session> {
    let running_cluster = RunningCluster::start(arguments, documents.nodes(), terminal).await?;
    documents.keep_nodes(running_cluster.folder())?;
    definitions::apply(running_cluster.client(), arguments).await?;
    admission::prepare(running_cluster.client(), running_cluster.extender_port().is_some()).await?;
    // The webhook is ready once its certificate is in the configuration.
    let webhook = running_cluster.extender_port().map(|_| ProgramPort::take()).transpose()?;
    if let Some(port) = &webhook {
        documents::apply_text(&running_cluster, &admission::configurations(port.number()), &[])
            .await?;
    }
    // As late as possible, since a fast clock advances far in a short time.
    let clock =
        PersistedClock::start(running_cluster.folder(), at, arguments.speed, Timestamp::now())?;
    let event_feed = EventFeed::follow(running_cluster.client().clone(), clock.setting());
    let programs = Programs::start(&running_cluster, clock.setting(), webhook)?;
    programs.await_ready().await?;
    let next_actions = NextActions::new(running_cluster.kubeconfig(), clock.setting());
    documents.apply(&running_cluster, next_actions.now()).await?;
    Ok(Session { programs, event_feed, clock, next_actions, running_cluster })
}

impl Session {
    /// Prints events until the end is requested, or a process ends unexpectedly.
    async fn run(
        mut self,
        documents: &Documents,
        after: Duration,
        terminal: &Terminal<'_>,
        end: &CancellationToken,
    ) -> anyhow::Result<()> {
        let moved = self.clock.is_moved().then(|| self.next_actions.now());
        terminal.print_ready(&self.running_cluster, &self.programs, after, moved)?;
        let printing = async {
            if !documents.is_empty() {
                let listed = self.next_actions.listed(LISTED_MINUTES).await?;
                terminal.print_list("The next ten minutes:", &listed)?;
            }
            self.event_feed.print(&self.next_actions, terminal).await
        };
        let ended = tokio::select! {
            biased;
            () = end.cancelled() => Ok(()),
            ended = alive(&self.running_cluster, &self.programs, &mut self.clock) => ended,
            ended = printing => ended,
        };
        let ended = ended.map_err(|error| with_disk_space(error, self.running_cluster.folder()));
        let printed = terminal.print_end(&self.running_cluster);
        self.programs.end().await;
        ended.and(self.clock.stop(Timestamp::now())).and(printed)
    }
}

/// Adds to an error that the disk is full, since a process that ended for that reason could not log the reason.
fn with_disk_space(error: anyhow::Error, dir: &Path) -> anyhow::Error {
    match free_bytes(dir) {
        Ok(free) if free < MIN_FREE_BYTES => {
            error.context(format!("the disk of {} is full", dir.display()))
        }
        _ => error,
    }
}

/// Returns an error once a process has ended unexpectedly, with the end of its log.
async fn alive(
    running_cluster: &RunningCluster,
    programs: &Programs,
    clock: &mut PersistedClock,
) -> anyhow::Result<()> {
    loop {
        running_cluster.check_alive()?;
        programs.check_alive()?;
        clock.check_written()?;
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}
