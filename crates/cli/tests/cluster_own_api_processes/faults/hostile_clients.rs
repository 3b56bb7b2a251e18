//! Malicious pods that can reach the metrics of the process. The process keeps running within the memory limit of the
//! manifests, and responds to other clients.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use almanac_harness::{Observation, PATIENCE, TestResult, await_condition};
use anyhow::{Result, ensure};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::controller::{head_start, on_cluster};
use crate::faults::replica::{
    ALONE, Replica, await_armed, await_record, ensure_carried_out_once, prepare,
};

/// The number of clients, each with its own address, and the number of connections of each client. Clients keep their
/// connections as long as the process allows.
const HOSTILE_CLIENTS: u8 = 16;
const CONNECTIONS: usize = 128;
/// The start of a request that never ends.
const HEADER: usize = 400 * 1024;

async fn connect(address: SocketAddr, client: u8) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::new(127, 0, 1, client), 0).into())?;
    Ok(socket.connect(address).await?)
}

/// A client that keeps opening connections. Half of the connections are silent, the others send headers without an end.
async fn besiege(address: SocketAddr, client: u8) {
    let header = format!("GET /metrics HTTP/1.1\r\nx: {}", "x".repeat(HEADER));
    let mut held = VecDeque::new();
    for number in 0_usize.. {
        if let Ok(mut stream) = connect(address, client).await {
            if number % 2 == 0 {
                let _ = stream.write_all(header.as_bytes()).await;
            }
            held.push_back(stream);
        }
        if held.len() > CONNECTIONS {
            held.pop_front();
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn an_attack_on_the_listener_delays_no_firing() -> TestResult {
    on_cluster(async |_, cluster| {
        prepare(cluster, "shop", None).await?;
        let replica = Replica::start(cluster, head_start() * 2, ALONE)?;
        await_armed(cluster, "shop").await?;
        let program = &replica.controller.program;
        let before = program.peak_resident_memory()?;
        let address = program.address()?.parse()?;
        let mut siege = JoinSet::new();
        for client in 1..=HOSTILE_CLIENTS {
            siege.spawn(besiege(address, client));
        }
        await_record(cluster, "shop").await?;
        ensure_carried_out_once(cluster, "shop", 1).await?;
        await_condition("a response to a probe during the siege", PATIENCE, async || {
            Ok(match program.get("/healthz").await {
                Ok((status, body)) => Observation::from_bool(status == 200, body),
                Err(error) => Observation::NotYet(format!("{error:#}")),
            })
        })
        .await?;
        ensure!(siege.try_join_next().is_none(), "one of the strangers has given up");
        let peak = replica.controller.limit.check(program)?;
        eprintln!("{before} bytes before, {peak} at the most");
        siege.shutdown().await;
        replica.controller.stop().await
    })
}
