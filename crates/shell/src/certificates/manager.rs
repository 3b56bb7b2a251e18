//! Stores certificates in a Secret that all replicas share, publishes their CAs, and installs them in the server.
//!
//! All replicas run the same loop. Each write carries the version that it is based on, so one replica wins and the
//! others read its result. That needs no Lease: the replicas' certificates would differ only in random numbers.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Client, Resource as _};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{CertificateRequirements, Configurations, Pair, Publishing, StoredCertificates};
use crate::clock::Clock;
use crate::server::ServingCertificate;
use crate::writer::{FIELD_MANAGER, patch_params, summarize};

/// The timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// An API server that has just started responds soon.
const AFTER_A_FAILURE: Duration = Duration::from_secs(5);

/// The keys of the Secret. The keys of the server are those of Secrets of the type `kubernetes.io/tls`.
const SERVING: [&str; 2] = ["tls.crt", "tls.key"];
const AUTHORITY: [&str; 2] = ["ca.crt", "ca.key"];
const NEXT: [&str; 2] = ["next-ca.crt", "next-ca.key"];
const PREVIOUS: &str = "previous-ca.crt";

/// The Secret that stores the certificates.
#[derive(Clone, Debug)]
pub struct SecretName {
    /// The namespace of the Secret.
    pub namespace: String,
    /// The name of the Secret. Server-side apply recreates it: only for apply, RBAC can limit `create` to a name.
    pub secret: String,
}

/// Stores, renews and publishes certificates.
pub struct CertificateManager {
    /// The client of the API server.
    pub client: Client,
    /// The Secret of the certificates.
    pub secret_name: SecretName,
    /// The requirements on the certificates.
    pub requirements: CertificateRequirements,
    /// The clock for renewals.
    pub clock: Clock,
}

/// The result of the last read of the Secret.
#[derive(Default)]
struct LastLook {
    /// The certificates in the Secret.
    kept: Option<StoredCertificates>,
    absent_since: Option<Instant>,
    /// The reason that the CAs are not in the `MutatingWebhookConfiguration`.
    unpublished: Option<Failure>,
}

/// The reason of a retry, as a sentence.
type Failure = String;

impl CertificateManager {
    /// Renews the certificates until the future is dropped; `certificate` is the serving certificate. Calls `report`
    /// after each check, with the latest instant until which the serving certificate is valid, or with the failure.
    pub async fn run(
        self,
        certificate: &ServingCertificate,
        report: impl Fn(Result<Timestamp, &str>) + Send,
    ) {
        let interval = Duration::try_from(self.requirements.interval()).unwrap_or(REQUEST_TIMEOUT);
        let mut last_failure: Option<Failure> = None;
        let mut last = LastLook::default();
        loop {
            let pause = match self.look(certificate, &mut last).await {
                Ok(until) => {
                    report(Ok(until));
                    last_failure = None;
                    interval
                }
                Err(failure) => {
                    report(Err(&failure));
                    if last_failure.as_ref() != Some(&failure) {
                        tracing::warn!(
                            error = failure,
                            "failed to renew, publish or use the certificates"
                        );
                        last_failure = Some(failure);
                    }
                    interval.min(AFTER_A_FAILURE)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Checks once: renews due certificates, publishes the CAs if necessary, then installs the certificate.
    async fn look(
        &self,
        certificate: &ServingCertificate,
        look: &mut LastLook,
    ) -> Result<Timestamp, Failure> {
        let kept = self.renew(look).await?;
        (look.kept, look.absent_since) = (Some(kept.clone()), None);
        let (validating, mutating) = match &self.requirements.publishing {
            Publishing::Into(Configurations { validating, mutating }) => {
                (Some(validating), mutating.as_ref())
            }
            Publishing::ByHand => (None, None),
        };
        if let Some(name) = validating {
            let resource = ApiResource::erase::<ValidatingWebhookConfiguration>(&());
            if !self.publish(&kept.bundle(), &resource, name).await? {
                return Err(format!("{} {name} does not exist", resource.kind));
            }
        }
        let serving = &kept.serving;
        certificate
            .show(&serving.certificate, &serving.key)
            .map_err(|why| format!("failed to use the certificate: {why}"))?;
        if let Some(name) = mutating {
            let resource = ApiResource::erase::<MutatingWebhookConfiguration>(&());
            // Without the configuration, the API server sends no mutating requests.
            let failure = self.publish(&kept.bundle(), &resource, name).await.err();
            if failure != look.unpublished
                && let Some(error) = &failure
            {
                tracing::warn!(
                    error,
                    "the API server might not trust the responses to mutating requests"
                );
            }
            look.unpublished = failure;
        }
        self.requirements.holds_until(&kept).map_err(|error| error.to_string())
    }

    /// The certificates in the Secret, renewed when due. A replica that has seen them restores a deleted Secret, since
    /// clients trust them. A new replica gives the other replicas time to do so.
    async fn renew(&self, look: &mut LastLook) -> Result<StoredCertificates, Failure> {
        let SecretName { namespace, secret: name, .. } = &self.secret_name;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret_path = format!("Secret {namespace}/{name}");
        let mut lost = None;
        // Of several replicas that renew at the same time, the first one writes, and the others read its result.
        for _ in 0..4 {
            let secret = answer(secrets.get_opt(name)).await;
            let secret = secret.map_err(|why| format!("failed to read {secret_path}: {why}"))?;
            let Some(secret) = secret else {
                let absent_since = *look.absent_since.get_or_insert_with(Instant::now);
                if look.kept.is_none() && absent_since.elapsed() < self.time_to_restore() {
                    return Err(format!(
                        "{secret_path} does not exist; waiting for another replica to restore it"
                    ));
                }
                self.apply_empty(&secrets, &secret_path).await?;
                lost.clone_from(&look.kept);
                continue;
            };
            let kept = kept_in(secret.data.as_ref());
            let known = kept.clone().or_else(|| lost.clone());
            let decided = self.requirements.decide(known.as_ref(), self.clock.now());
            let renewed = match (decided.map_err(|error| error.to_string())?, kept, &known) {
                (Some(renewed), ..) => renewed,
                (None, Some(kept), _) => return Ok(kept),
                (None, None, Some(lost)) => lost.clone(),
                (None, None, None) => {
                    return Err(format!("failed to create certificates for {secret_path}"));
                }
            };
            let patch = json!({
                "metadata": {"resourceVersion": secret.meta().resource_version},
                "data": data_of(&renewed),
            });
            let (parameters, patch) = (patch_params(), Patch::Merge(&patch));
            match timeout(REQUEST_TIMEOUT, secrets.patch(name, &parameters, &patch)).await {
                Ok(Ok(_)) => {
                    let is_first = known.is_none();
                    tracing::info!(secret = secret_path, is_first, "the certificates were renewed");
                    self.log_new_authority(&secret_path, known.as_ref(), &renewed);
                    return Ok(renewed);
                }
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
                Ok(Err(error)) => {
                    return Err(format!("failed to write {secret_path}: {}", summarize(&error)));
                }
                Err(_) => {
                    return Err(format!("failed to write {secret_path}: no response in time"));
                }
            }
        }
        Err(format!("failed to write {secret_path}: conflict on every attempt"))
    }

    /// The maximum time until every replica has checked twice.
    fn time_to_restore(&self) -> Duration {
        Duration::try_from(self.requirements.interval()).unwrap_or(REQUEST_TIMEOUT) * 2
    }

    /// Creates the empty Secret. An apply with data could remove the data of a faster replica.
    async fn apply_empty(&self, secrets: &Api<Secret>, shown: &str) -> Result<(), Failure> {
        let SecretName { namespace, secret: name } = &self.secret_name;
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "type": "Opaque",
        });
        let (parameters, patch) = (PatchParams::apply(FIELD_MANAGER), Patch::Apply(&secret));
        let applied = secrets.patch(name, &parameters, &patch);
        answer(applied).await.map_err(|why| format!("failed to create {shown}: {why}"))?;
        tracing::warn!(secret = shown, "created the missing Secret");
        Ok(())
    }

    /// Warns that the API server rejects the certificate until an administrator copies a new CA.
    fn log_new_authority(
        &self,
        secret: &str,
        kept: Option<&StoredCertificates>,
        renewed: &StoredCertificates,
    ) {
        let is_new = kept.is_none_or(|kept| kept.authority != renewed.authority);
        if is_new && self.requirements.publishing == Publishing::ByHand {
            tracing::warn!(
                secret,
                "a new CA signs the certificate: until its {} is copied into caBundle of the webhook \
                 configuration, the API server trusts none of the responses",
                AUTHORITY[0]
            );
        }
    }

    /// Writes the CAs into a webhook configuration. Returns whether the configuration exists.
    async fn publish(
        &self,
        bundle: &str,
        resource: &ApiResource,
        name: &str,
    ) -> Result<bool, Failure> {
        let object_path = format!("{} {name}", resource.kind);
        let configurations: Api<DynamicObject> = Api::all_with(self.client.clone(), resource);
        let read = answer(configurations.get_opt(name)).await;
        let read = read.map_err(|why| format!("failed to read {object_path}: {why}"))?;
        let Some(read) = read else { return Ok(false) };
        let bundle = json!(ByteString(bundle.as_bytes().to_vec()));
        let webhooks = read.data["webhooks"].as_array().into_iter().flatten();
        let behind: Vec<Value> = webhooks
            .filter(|webhook| webhook["clientConfig"]["caBundle"] != bundle)
            .map(|it| json!({"name": it["name"], "clientConfig": {"caBundle": bundle}}))
            .collect();
        if behind.is_empty() {
            return Ok(true);
        }
        let patch = json!({
            "metadata": {"resourceVersion": read.metadata.resource_version},
            "webhooks": behind,
        });
        let (parameters, patch) = (patch_params(), Patch::Strategic(&patch));
        let request = configurations.patch(name, &parameters, &patch);
        answer(request).await.map_err(|why| format!("failed to write {object_path}: {why}"))?;
        tracing::info!(configuration = object_path, "the CAs of the certificates were published");
        Ok(true)
    }
}

async fn answer<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    match timeout(REQUEST_TIMEOUT, request).await {
        Ok(answered) => answered.map_err(|error| summarize(&error)),
        Err(_) => Err("no response in time".to_owned()),
    }
}

/// The certificates in a Secret; `None`, so that new certificates replace them, if any is missing.
fn kept_in(data: Option<&BTreeMap<String, ByteString>>) -> Option<StoredCertificates> {
    let text = |key: &str| String::from_utf8(data?.get(key)?.0.clone()).ok();
    let pair = |[certificate, key]: [&str; 2]| {
        Some(Pair { certificate: text(certificate)?, key: text(key)? })
    };
    let (authority, serving) = (pair(AUTHORITY)?, pair(SERVING)?);
    Some(StoredCertificates { authority, next: pair(NEXT), previous: text(PREVIOUS), serving })
}

/// The certificates as the data of a Secret. Missing certificates are removed from the Secret.
fn data_of(kept: &StoredCertificates) -> BTreeMap<&'static str, Option<ByteString>> {
    let StoredCertificates { authority, next, previous, serving } = kept;
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
