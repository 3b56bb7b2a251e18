//! An API server that answers at once: it keeps a herd in memory and does what a controller needs
//! of it, over plain HTTP. What it holds is in `store`, what it answers in `answers`.

mod answers;
mod store;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) use store::Store;

/// Ends when it is dropped.
pub(crate) struct Stub {
    pub(crate) store: Arc<Store>,
    accepting: JoinHandle<()>,
    kubeconfig: PathBuf,
}

impl Stub {
    /// Serves so many rules and targets.
    pub(crate) async fn start(rules: usize) -> Result<Self> {
        let store = Arc::new(Store::of(rules));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let kubeconfig = std::env::temp_dir().join(format!("herd-{}", address.port()));
        write_kubeconfig(&kubeconfig, address)?;
        let accepting = tokio::spawn(accept(listener, Arc::clone(&store)));
        Ok(Self { store, accepting, kubeconfig })
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.accepting.abort();
        // A file that is left in the folder for such files harms nobody.
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

fn write_kubeconfig(file: &Path, address: SocketAddr) -> Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stub", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "stub", "user": {}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        "current-context": "stub",
    });
    std::fs::write(file, config.to_string())
        .with_context(|| format!("failed to write {}", file.display()))
}

async fn accept(listener: TcpListener, store: Arc<Store>) {
    while let Ok((connection, _)) = listener.accept().await {
        // A small answer waits for nothing.
        let _ = connection.set_nodelay(true);
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let service = service_fn(|request| answers::answer(Arc::clone(&store), request));
            // Whoever hangs up has what it wanted.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
        });
    }
}
