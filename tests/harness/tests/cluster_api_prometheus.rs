//! Prometheus beside the cluster: started, scraping, queried, and gone.

use almanac_harness::{PATIENCE, Prometheus, TestResult};
use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Serves one metric on loopback for as long as the runtime lives.
async fn serve(metric: &'static str) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let length = metric.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\
                 Content-Length: {length}\r\nConnection: close\r\n\r\n{metric}"
            );
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    Ok(address)
}

#[tokio::test]
async fn prometheus_scrapes_what_a_test_serves_and_ends_with_it() -> TestResult {
    let target = serve("tide_level{port=\"hamburg\"} 3.5\n").await?;
    let prometheus = Prometheus::start(&[target]).await?;
    let level = prometheus.await_sample("sum(tide_level{job=\"test\"})", PATIENCE).await?;
    assert!((level - 3.5).abs() < f64::EPSILON, "{level}");
    assert_eq!(prometheus.query("tide_level{port=\"atlantis\"}").await?, None);

    let address = prometheus.url().strip_prefix("http://").context("an http address")?.to_owned();
    drop(prometheus);
    let refused = tokio::net::TcpStream::connect(&address).await;
    assert!(refused.is_err(), "somebody still listens on {address}");
    Ok(())
}
