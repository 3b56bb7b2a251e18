//! A connection that stays open, like that of kube-scheduler. The client does only the work that a request requires.

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::new() })
    }

    /// Posts a body, and reads the whole response.
    pub(crate) async fn post(&mut self, path: &str, body: &[u8]) -> Result<(u16, &[u8])> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: extender\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all(&[head.as_bytes(), body].concat()).await?;
        self.buffer.clear();
        let (head_ends, length, status) = loop {
            self.fill().await?;
            let Some(at) = self.buffer.windows(4).position(|it| it == b"\r\n\r\n") else {
                continue;
            };
            let head = std::str::from_utf8(&self.buffer[..at])?.to_ascii_lowercase();
            let status = head.split(' ').nth(1).context("no status")?.parse()?;
            let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
            break (at + 4, length.context("no length")?.parse::<usize>()?, status);
        };
        while self.buffer.len() < head_ends + length {
            self.fill().await?;
        }
        Ok((status, &self.buffer[head_ends..]))
    }

    async fn fill(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        anyhow::ensure!(read > 0, "the connection was closed");
        Ok(())
    }
}
