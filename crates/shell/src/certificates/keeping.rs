//! Keeps certificates in a Secret that all replicas share, publishes their authorities, and has the server show them.
//!
//! All replicas do the same; each write carries the version that it is based on, so one of them wins and the others read
//! what it has written. No lease is needed for that: what they would write differs only in random numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Resource as _};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Kept, Pair, Publishing, Wanted};
use crate::calls::Shown;
use crate::clock::Clock;
use crate::writer::{FIELD_MANAGER, summarize};

/// How long a response is awaited.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// An API server that has just begun answers soon.
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);

/// The keys of the Secret. Those of the server are the ones of Secrets of the type `kubernetes.io/tls`.
const SERVING: [&str; 2] = ["tls.crt", "tls.key"];
const AUTHORITY: [&str; 2] = ["ca.crt", "ca.key"];
const NEXT: [&str; 2] = ["next-ca.crt", "next-ca.key"];
const PREVIOUS: &str = "previous-ca.crt";

/// Where certificates are kept.
#[derive(Clone, Debug)]
pub struct Places {
    /// The namespace of the Secret.
    pub namespace: String,
    /// The Secret, which is there already: permission to create one cannot be limited to a name.
    pub secret: String,
}

/// Keeps certificates.
pub struct Keeping {
    /// With which rights.
    pub client: Client,
    /// Where.
    pub places: Places,
    /// What for.
    pub wanted: Wanted,
    /// By which clock they are renewed.
    pub clock: Clock,
}

/// What is to be tried again later, as a sentence.
type Failure = String;

impl Keeping {
    /// Keeps them until it is dropped; `shown` is what the server shows. `tell` is told after each look until when the
    /// certificate counts that is shown, at the most, or what is not well.
    pub async fn keep(self, shown: &Shown, tell: impl Fn(Result<Timestamp, &str>) + Send) {
        let interval = Duration::try_from(self.wanted.interval()).unwrap_or(REQUEST_TIMEOUT);
        let mut last_failure: Option<Failure> = None;
        loop {
            let pause = match self.look(shown).await {
                Ok(until) => {
                    tell(Ok(until));
                    last_failure = None;
                    interval
                }
                Err(failure) => {
                    tell(Err(&failure));
                    if last_failure.as_ref() != Some(&failure) {
                        tracing::warn!(error = failure, "failed to keep the certificates");
                        last_failure = Some(failure);
                    }
                    interval.min(AFTER_A_FAILURE)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Looks once: renews what has to be, publishes the authorities if that is up to us, then shows the certificate.
    async fn look(&self, shown: &Shown) -> Result<Timestamp, Failure> {
        let kept = self.renew().await?;
        if let Publishing::Into(configuration) = &self.wanted.publishing {
            self.publish(&kept.bundle(), configuration).await?;
        }
        let serving = &kept.serving;
        shown
            .show(&serving.certificate, &serving.key)
            .map_err(|why| format!("failed to use the certificate: {why}"))?;
        self.wanted.holds_until(&kept).map_err(|error| error.to_string())
    }

    async fn renew(&self) -> Result<Kept, Failure> {
        let Places { namespace, secret: name, .. } = &self.places;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let shown = format!("Secret {namespace}/{name}");
        // Of several replicas that renew at once, one is first, and the others read its result.
        for _ in 0..4 {
            let secret = answer(secrets.get(name)).await;
            let secret = secret.map_err(|why| format!("failed to read {shown}: {why}"))?;
            let kept = kept_in(secret.data.as_ref());
            let decided = self.wanted.decide(kept.as_ref(), self.clock.now());
            let (kept, renewed) = match (decided.map_err(|error| error.to_string())?, kept) {
                (None, Some(kept)) => return Ok(kept),
                (Some(renewed), kept) => (kept, renewed),
                (None, None) => return Err(format!("failed to make certificates for {shown}")),
            };
            let patch = json!({
                "metadata": {"resourceVersion": secret.meta().resource_version},
                "data": data_of(&renewed),
            });
            let (parameters, patch) = (parameters(), Patch::Merge(&patch));
            match timeout(REQUEST_TIMEOUT, secrets.patch(name, &parameters, &patch)).await {
                Ok(Ok(_)) => {
                    let is_first = kept.is_none();
                    tracing::info!(secret = shown, is_first, "the certificates were renewed");
                    self.tell_to_copy(&shown, kept.as_ref(), &renewed);
                    return Ok(renewed);
                }
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
                Ok(Err(error)) => {
                    return Err(format!("failed to write {shown}: {}", summarize(&error)));
                }
                Err(_) => return Err(format!("failed to write {shown}: no response in time")),
            }
        }
        Err(format!("failed to write {shown}: it changes all the time"))
    }

    /// Nothing is asked here until somebody has copied a new authority.
    fn tell_to_copy(&self, secret: &str, kept: Option<&Kept>, renewed: &Kept) {
        let is_new = kept.is_none_or(|kept| kept.authority != renewed.authority);
        if is_new && self.wanted.publishing == Publishing::ByHand {
            tracing::warn!(
                secret,
                "a new authority signs the certificate: until its {} is copied into caBundle of the webhook \
                 configuration, the API server trusts none of the answers",
                AUTHORITY[0]
            );
        }
    }

    /// Has those who call trust the authorities.
    async fn publish(&self, bundle: &str, name: &str) -> Result<(), Failure> {
        let shown = format!("ValidatingWebhookConfiguration {name}");
        let configurations: Api<ValidatingWebhookConfiguration> = Api::all(self.client.clone());
        let read = answer(configurations.get(name)).await;
        let read = read.map_err(|why| format!("failed to read {shown}: {why}"))?;
        let webhooks = read.webhooks.iter().flatten();
        let behind = webhooks.filter(|webhook| {
            let has = webhook.client_config.ca_bundle.as_ref().map(|it| it.0.as_slice());
            has != Some(bundle.as_bytes())
        });
        let bundle = ByteString(bundle.as_bytes().to_vec());
        let behind: Vec<Value> = behind
            .map(|it| json!({"name": it.name, "clientConfig": {"caBundle": bundle}}))
            .collect();
        if behind.is_empty() {
            return Ok(());
        }
        let patch = json!({
            "metadata": {"resourceVersion": read.meta().resource_version},
            "webhooks": behind,
        });
        let (parameters, patch) = (parameters(), Patch::Strategic(&patch));
        let written = configurations.patch(name, &parameters, &patch);
        answer(written).await.map_err(|why| format!("failed to write {shown}: {why}"))?;
        tracing::info!(configuration = name, "the authorities of the certificates were published");
        Ok(())
    }
}

fn parameters() -> PatchParams {
    PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

async fn answer<T>(asked: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match timeout(REQUEST_TIMEOUT, asked).await {
        Ok(answered) => answered.map_err(|error| summarize(&error)),
        Err(_) => Err("no response in time".to_owned()),
    }
}

/// What a Secret has, if it is whole. What is not is made anew.
fn kept_in(data: Option<&BTreeMap<String, ByteString>>) -> Option<Kept> {
    let text = |key: &str| String::from_utf8(data?.get(key)?.0.clone()).ok();
    let pair = |[certificate, key]: [&str; 2]| {
        Some(Pair { certificate: text(certificate)?, key: text(key)? })
    };
    let (authority, serving) = (pair(AUTHORITY)?, pair(SERVING)?);
    Some(Kept { authority, next: pair(NEXT), previous: text(PREVIOUS), serving })
}

/// The same as the data of a Secret; what is not there is removed.
fn data_of(kept: &Kept) -> BTreeMap<&'static str, Option<ByteString>> {
    let Kept { authority, next, previous, serving } = kept;
    let bytes = |text: &String| ByteString(text.as_bytes().to_vec());
    let pair = |keys: [&'static str; 2], pair: Option<&Pair>| {
        let texts = [pair.map(|it| &it.certificate), pair.map(|it| &it.key)];
        keys.into_iter().zip(texts.map(|text| text.map(bytes)))
    };
    pair(SERVING, Some(serving))
        .chain(pair(AUTHORITY, Some(authority)))
        .chain(pair(NEXT, next.as_ref()))
        .chain([(PREVIOUS, previous.as_ref().map(bytes))])
        .collect()
}
