//! `almanac extender`: selects units of nodes for a kube-scheduler.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use almanac_controllers::extender::{Extender, ExtenderEndpoints, ExtenderOptions};
use almanac_shell::client::Connection;
use almanac_shell::lease::Addresses;
use almanac_shell::monotonic::Monotonic;
use almanac_shell::server::{ClientTlsFiles, Forwarder, Tls, TlsFiles};
use anyhow::ensure;
use clap::{Args, ValueHint};
use prometheus_client::registry::Registry;

use super::process::{self, ConnectionArguments, LeaseArguments, ProcessArguments, listen};
use crate::outcome::exit_codes_without_findings;

/// Run the scheduler extender for units of nodes
///
/// Returns to a kube-scheduler the nodes that the pods of a resource policy may use, and binds these pods, so that no
/// unit takes more pods than its maxCount. One elected replica decides; the others forward the requests of their
/// schedulers to it.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac extender
  almanac extender --peer-listen 0.0.0.0:8891 --peer-address \"$POD_IP:8891\" --peer-token-file token

", exit_codes_without_findings!()))]
pub(crate) struct ExtenderArguments {
    #[command(flatten)]
    connection: ConnectionArguments,

    /// The address for the requests of the scheduler: one that only this machine or pod can reach, unless clients need
    /// a certificate
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8890")]
    scheduler_listen: SocketAddr,

    /// The address for the requests of other replicas
    #[arg(long, value_name = "ADDRESS", requires = "peer_address")]
    peer_listen: Option<SocketAddr>,

    /// The address at which other replicas reach this replica
    #[arg(long, value_name = "HOST:PORT", requires = "peer_listen", value_parser = peer_address)]
    peer_address: Option<String>,

    /// A token of this replica's service account for the audience almanac.dev/extender; it identifies this replica to
    /// the others
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "peer_listen")]
    peer_token_file: Option<PathBuf>,

    /// Serve over TLS with this certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key_file")]
    tls_cert_file: Option<PathBuf>,

    /// The key of the certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert_file")]
    tls_key_file: Option<PathBuf>,

    /// Accept only clients with a certificate of one of these CAs
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert_file")]
    tls_client_ca_file: Option<PathBuf>,

    /// The name that the certificates of all replicas have
    #[arg(long, value_name = "NAME", default_value = "almanac-extender")]
    tls_peer_name: String,

    /// Decide immediately: the API server started after every other extender had ended
    #[arg(long, hide = true)]
    no_predecessor: bool,

    #[command(flatten)]
    lease: LeaseArguments,

    #[command(flatten)]
    process: ProcessArguments,
}

/// Requests arrive one after the other; forwarding by a standby and the watches need CPU time too.
const THREADS: usize = 2;

/// The maximum length of a response to a scheduler, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

pub(crate) fn run(
    arguments: &ExtenderArguments,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    ensure!(
        arguments.scheduler_listen.ip().is_loopback() || arguments.tls_client_ca_file.is_some(),
        "--scheduler-listen: any client that reaches {} could bind pods; use an address of this machine or pod, such as \
         127.0.0.1:8890, or add --tls-client-ca-file",
        arguments.scheduler_listen
    );
    ensure!(
        arguments.peer_listen.is_none()
            || arguments.tls_cert_file.is_none()
            || arguments.tls_client_ca_file.is_some(),
        "--peer-listen: with TLS, replicas identify each other by their certificates: add --tls-client-ca-file"
    );
    ensure!(
        arguments.peer_listen.is_none()
            || arguments.peer_token_file.is_some()
            || arguments.tls_client_ca_file.is_some(),
        "--peer-listen: any client that reaches this address could bind pods: add --peer-token-file, or certificates \
         with --tls-client-ca-file"
    );
    let start = |connection: &Connection, health, registry: &mut Registry, end| {
        let options = options(arguments, connection);
        let endpoints = endpoints(arguments)?;
        let client = connection.client.clone();
        let extender = Extender::new(client, options, endpoints, health, registry);
        Ok(extender.run(end))
    };
    let tls_files =
        [&arguments.tls_cert_file, &arguments.tls_key_file, &arguments.tls_client_ca_file];
    let files = tls_files.into_iter().flatten().cloned().collect();
    let serving = (&arguments.connection, &arguments.process.serving);
    process::run(serving, files, THREADS, output, start)
}

/// Parses the address of a server. The part before the last colon may be an IPv6 address without brackets, since a pod
/// gets its own address in that form.
fn peer_address(text: &str) -> Result<String, String> {
    let expected =
        "must be a name or an address and a port, such as 10.0.0.7:8891 or [fd00::7]:8891";
    let (host, port) = text.rsplit_once(':').ok_or(expected)?;
    let is_digits = port.chars().all(|character| character.is_ascii_digit());
    let is_port = is_digits && port.parse::<u16>().is_ok_and(|port| port > 0);
    if bare_of(host).parse::<IpAddr>().is_ok_and(|address| address.is_unspecified()) {
        return Err("must be the address of this process, not an unspecified address".to_owned());
    }
    let is_name = |it: &str| {
        it.chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '.'))
    };
    match bare_of(host).parse::<Ipv6Addr>() {
        Ok(address) if is_port => Ok(format!("[{address}]:{port}")),
        Err(_) if is_port && !host.is_empty() && is_name(host) => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err(expected.to_owned()),
    }
}

fn bare_of(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn options(arguments: &ExtenderArguments, connection: &Connection) -> ExtenderOptions {
    let lease = (&arguments.lease, "almanac-extender");
    let mut process = arguments.process.options(lease, 32, connection);
    if let Some(lease) = &mut process.lease {
        lease.addresses = arguments.peer_address.as_deref().map(Addresses::new);
    }
    ExtenderOptions {
        process,
        has_no_predecessor: arguments.no_predecessor,
        monotonic: Monotonic::system(),
    }
}

fn endpoints(arguments: &ExtenderArguments) -> anyhow::Result<ExtenderEndpoints> {
    let files = arguments.tls_cert_file.clone().zip(arguments.tls_key_file.clone());
    let files = files.map(|(certificate, key)| TlsFiles {
        certificate,
        key,
        client_authorities: arguments.tls_client_ca_file.clone(),
    });
    let tls = files.as_ref().map(Tls::read).transpose()?;
    let own = files.and_then(|files| {
        Some(ClientTlsFiles {
            authorities: files.client_authorities?,
            certificate: files.certificate,
            key: files.key,
            name: arguments.tls_peer_name.clone(),
        })
    });
    let others = arguments.peer_listen.map(|address| {
        Ok::<_, anyhow::Error>((listen(address)?, arguments.peer_token_file.clone()))
    });
    Ok(ExtenderEndpoints {
        listener: listen(arguments.scheduler_listen)?,
        others: others.transpose()?,
        forwarder: Forwarder::new(own.as_ref(), MAX_RESPONSE_BYTES)?,
        tls,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_address_of_either_ip_family_is_accepted() {
        for (given, expected) in [
            ("10.0.0.7:8891", "10.0.0.7:8891"),
            ("extender-0.peers:8891", "extender-0.peers:8891"),
            ("fd00::7:8891", "[fd00::7]:8891"),
            ("[fd00::7]:8891", "[fd00::7]:8891"),
        ] {
            assert_eq!(peer_address(given).as_deref(), Ok(expected));
        }
        for wrong in [
            "10.0.0.7",
            ":8891",
            "10.0.0.7:0",
            "http://a:1",
            "[10.0.0.7]:1",
            "a b:1",
            "a:x",
            "a:+1",
            "[::]:1",
            "0.0.0.0:1",
        ] {
            assert!(peer_address(wrong).is_err(), "{wrong}");
        }
    }
}
