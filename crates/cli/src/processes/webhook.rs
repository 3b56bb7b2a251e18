//! `almanac webhook`: validates policies for an API server.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use almanac_api::policy_clock::PolicyClock;
use almanac_controllers::namespaces::Namespaces;
use almanac_controllers::webhook::{Certificate, Webhook, WebhookEndpoints, WebhookOptions};
use almanac_shell::certificates::manager::{CertificateManager, SecretName};
use almanac_shell::certificates::{CertificateRequirements, Configurations, Publishing};
use almanac_shell::client::Connection;
use almanac_shell::clock::Clock;
use almanac_shell::server::{Tls, TlsFiles};
use anyhow::ensure;
use clap::{ArgAction, Args, ValueHint};
use jiff::SignedDuration;
use prometheus_client::registry::Registry;

use super::controllers::Controller;
use super::process::{self, ConnectionArguments, NamespaceArguments, ServingArguments, listen};
use crate::outcome::exit_codes_without_findings;

/// Run the validating webhook
///
/// Rejects policies with an error of `almanac validate`, and returns its warnings, also those that depend on other
/// objects of the cluster. All replicas respond. They create and renew their serving certificate, keep it in a Secret,
/// and write its CA into the webhook configuration.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac webhook
  almanac webhook --tls-cert-file tls.crt --tls-key-file tls.key
  almanac webhook --namespaces shop,warehouse --publish-authority=false

", exit_codes_without_findings!()))]
pub(crate) struct WebhookArguments {
    #[command(flatten)]
    connection: ConnectionArguments,

    /// The address for the requests of the API server
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8443")]
    webhook_listen: SocketAddr,

    /// The validating webhook configuration into which to inject the CA bundle
    #[arg(long, value_name = "NAME", default_value = "almanac")]
    webhook_configuration: String,

    /// The mutating webhook configuration, if it exists; the API server calls such configurations in the order of
    /// their names
    #[arg(long, value_name = "NAME", default_value = "taints.almanac.dev")]
    mutating_webhook_configuration: String,

    /// Inject the CA bundle; if false, the CA lasts 10 years and you copy it from the Secret
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        num_args = 0..=1,
        default_value_t = true,
        default_missing_value = "true"
    )]
    publish_authority: bool,

    /// The Secret of the serving certificate, in the namespace of the context or the pod; it must exist
    #[arg(long, value_name = "NAME", default_value = "almanac-webhook")]
    certificate_secret: String,

    /// The names and addresses at which the API server reaches the webhook [default: those of the Service
    /// almanac-webhook]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    certificate_names: Vec<String>,

    /// The kinds to check though their upstream controller runs in the cluster
    #[arg(long, value_name = "KINDS", value_enum, value_delimiter = ',')]
    take_over: Vec<Controller>,

    /// The lifetime of a certificate; it is renewed when a third of that remains
    #[arg(long, value_name = "DURATION", default_value = "720h", value_parser = lifetime)]
    certificate_lifetime: SignedDuration,

    /// Serve with this certificate instead of a generated one; another product must renew it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key_file")]
    tls_cert_file: Option<PathBuf>,

    /// The key of the certificate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert_file")]
    tls_key_file: Option<PathBuf>,

    #[command(flatten)]
    namespaces: NamespaceArguments,

    #[command(flatten)]
    serving: ServingArguments,
}

/// A review takes a fraction of a millisecond, but an API server sends many at the same time.
const THREADS: usize = 2;

/// The name of the Service in `deploy/`.
const SERVICE: &str = "almanac-webhook";

pub(crate) fn run(
    arguments: &WebhookArguments,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let WebhookArguments { tls_cert_file, tls_key_file, .. } = arguments;
    let files = tls_cert_file.clone().zip(tls_key_file.clone());
    let read_once = [tls_cert_file, tls_key_file].into_iter().flatten().cloned().collect();
    let start = |connection: &Connection, health, registry: &mut Registry, end| {
        let certificate = match &files {
            Some((certificate, key)) => Certificate::Own(Tls::read(&TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_authorities: None,
            })?),
            None => Certificate::Kept(Box::new(manager(arguments, connection)?)),
        };
        let endpoints =
            WebhookEndpoints { listener: listen(arguments.webhook_listen)?, certificate };
        let options = WebhookOptions {
            namespaces: arguments.namespaces.namespaces(),
            take_over: arguments.take_over.iter().map(|kind| kind.0).collect(),
            clock: arguments.serving.clock(),
        };
        let webhook = Webhook::new(connection.client.clone(), options, endpoints, health, registry);
        Ok(webhook.run(end))
    };
    let serving = (&arguments.connection, &arguments.serving);
    process::run(serving, read_once, THREADS, output, start)
}

fn manager(
    arguments: &WebhookArguments,
    connection: &Connection,
) -> anyhow::Result<CertificateManager> {
    let namespace = &connection.namespace;
    let mut names = arguments.certificate_names.clone();
    if names.is_empty() {
        names = ["", ".cluster.local"]
            .map(|domain| format!("{SERVICE}.{namespace}.svc{domain}"))
            .to_vec();
    }
    ensure!(
        names.iter().all(|name| !name.is_empty() && !name.contains(char::is_whitespace)),
        "--certificate-names: a name is empty or contains a space; write DNS names and IP addresses, separated by \
         commas"
    );
    // A certificate has addresses in canonical form.
    for name in &mut names {
        if let Ok(address) = name.parse::<IpAddr>() {
            *name = address.to_string();
        }
    }
    let secret = arguments.certificate_secret.clone();
    let secret_name = SecretName { namespace: namespace.clone(), secret };
    // The mutating webhook changes only cluster-scoped objects.
    let is_mutating = arguments.namespaces.namespaces() == Namespaces::All;
    let publishing = if arguments.publish_authority {
        let mutating = &arguments.mutating_webhook_configuration;
        Publishing::Into(Configurations {
            validating: arguments.webhook_configuration.clone(),
            mutating: is_mutating.then(|| mutating.clone()),
        })
    } else {
        Publishing::ByHand
    };
    Ok(CertificateManager {
        client: connection.client.clone(),
        secret_name,
        requirements: CertificateRequirements {
            names,
            lifetime: arguments.certificate_lifetime,
            publishing,
        },
        // The clients that check a certificate do not follow the policy clock.
        clock: Clock::system(PolicyClock::REAL),
    })
}

/// Parses a lifetime. Shorter lifetimes would cause constant renewals, and longer lifetimes exceed those of Kubernetes'
/// own certificates.
fn lifetime(text: &str) -> Result<SignedDuration, String> {
    let allowed = SignedDuration::from_secs(10)..=SignedDuration::from_hours(24 * 398);
    let lifetime: Result<SignedDuration, _> = text.parse();
    lifetime.ok().filter(|it| allowed.contains(it)).ok_or_else(|| {
        "must be a duration from 10 s to 9552 h (398 days), such as 720h or 90m".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_is_longer_than_a_renewal_and_limited() {
        for good in ["10s", "720h", "90m", "9552h"] {
            assert!(lifetime(good).is_ok(), "{good}");
        }
        for bad in ["9s", "0s", "-1h", "9553h", "30", "soon", ""] {
            assert!(lifetime(bad).is_err(), "{bad}");
        }
    }
}
