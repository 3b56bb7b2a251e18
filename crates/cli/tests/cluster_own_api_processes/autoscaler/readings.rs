//! A scrape target for Prometheus: a gauge with the number of series that a test sets.

use std::sync::{Arc, Mutex, PoisonError};

use almanac_harness::{Observation, PATIENCE, Prometheus, TestResult, await_condition};
use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// The gauge `tide`, with a label `quay`.
pub(crate) struct Readings {
    address: String,
    text: Arc<Mutex<String>>,
    serving: AbortHandle,
}

impl Readings {
    pub(crate) async fn serve() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let text: Arc<Mutex<String>> = Arc::default();
        let served = Arc::clone(&text);
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let body = served.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let length = body.len();
                let response = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\
                     Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                );
                tokio::spawn(async move {
                    let _ = stream.read(&mut [0; 4096]).await;
                    let _ = stream.write_all(response.as_bytes()).await;
                });
            }
        });
        Ok(Self { address, text, serving: serving.abort_handle() })
    }

    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Exposes a series for each of these values from the next scrape on.
    pub(crate) fn show(&self, values: &[&str]) {
        let line = |(quay, value): (usize, &&str)| format!("tide{{quay=\"{quay}\"}} {value}\n");
        let lines: String = values.iter().enumerate().map(line).collect();
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    /// Sets the values, and waits until Prometheus has scraped them.
    pub(crate) async fn publish(&self, prometheus: &Prometheus, values: &[&str]) -> TestResult {
        self.show(values);
        // NaN equals nothing, not even itself.
        let queries: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(quay, value)| match *value {
                "NaN" => format!("count(tide{{quay=\"{quay}\"}} != tide{{quay=\"{quay}\"}})"),
                value => format!("count(tide{{quay=\"{quay}\"}} == {value})"),
            })
            .collect();
        await_condition(&format!("the tide to be {values:?}"), PATIENCE, async || {
            let count = prometheus.count_series("tide").await?;
            let mut holds = count == values.len();
            for query in &queries {
                holds &= prometheus.query(query).await? == Some(1.0);
            }
            Ok(Observation::from_bool(holds, format!("{count} series")))
        })
        .await
    }
}

impl Drop for Readings {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
