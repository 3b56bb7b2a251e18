//! The shutdown signal, and a token for everything that waits for it.

use tokio_util::sync::CancellationToken;

/// Cancels the token at the first SIGTERM or SIGINT, so that work in progress is finished. A second
/// signal ends the process immediately.
pub fn on_signal(token: CancellationToken) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        let mut either = async || {
            tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            }
        };
        let name = either().await;
        tracing::info!(signal = name, "shutting down; finishing work in progress");
        token.cancel();
        let name = either().await;
        tracing::warn!(signal = name, "shutting down immediately");
        std::process::exit(130);
    });
    Ok(())
}
