//! Prometheus scrapes programs outside the cluster: labels, and formats.

use almanac_harness::{PATIENCE, Prometheus, TestResult};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const TEXT: &str = "text/plain; version=0.0.4";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves metrics on loopback for as long as the runtime lives.
async fn serve(format: &'static str, metric: &'static str) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let length = metric.len();
            let response = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {format}\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n{metric}"
            );
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    Ok(address)
}

#[tokio::test]
async fn labels_of_the_target_are_honored_if_requested() -> TestResult {
    let metric = "tide_level{job=\"pilot\",instance=\"quay\"} 2\n";
    let targets = [serve(TEXT, metric).await?];
    let honoring = Prometheus::start_honoring_labels(&targets).await?;
    honoring.await_sample("tide_level{job=\"pilot\",instance=\"quay\"}", PATIENCE).await?;
    drop(honoring);
    let other = Prometheus::start(&targets).await?;
    other.await_sample("tide_level{job=\"test\",exported_job=\"pilot\"}", PATIENCE).await?;
    assert_eq!(other.query("tide_level{job=\"pilot\"}").await?, None);
    Ok(())
}

#[tokio::test]
async fn open_metrics_are_scraped_as_such() -> TestResult {
    let whole = "# TYPE tide_turns counter\ntide_turns_total 5.0\n# EOF\n";
    // In the plain text format, this would be valid.
    let cut_off = "# TYPE tide_turns counter\ntide_turns_total 6.0\n";
    let targets = [serve(OPEN_METRICS, whole).await?, serve(OPEN_METRICS, cut_off).await?];
    let prometheus = Prometheus::start(&targets).await?;
    let turns = prometheus.await_sample("sum(tide_turns_total)", PATIENCE).await?;
    assert!((turns - 5.0).abs() < f64::EPSILON, "{turns}");
    for (target, expected) in targets.iter().zip([1.0, 0.0]) {
        let up = prometheus.await_sample(&format!("up{{instance=\"{target}\"}}"), PATIENCE).await?;
        assert!((up - expected).abs() < f64::EPSILON, "{target} is {up}");
    }
    Ok(())
}
