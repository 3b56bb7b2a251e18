//! Reads a single target.

use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::slim;
use almanac_api::status::TargetProblem;
use almanac_engine::{Identity, Slim, Target};
use almanac_shell::writer::summarize;
use kube::api::GetParams;
use kube::core::Request;
use serde_json::Value;

use super::kind::Kind as FoundKind;
use super::{TargetError, Targets};
use crate::cluster::{TargetEntry, is_older};

/// The time limit of a response.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

impl Targets {
    /// Reads the current state of a target and updates the world.
    pub(super) async fn read(&self, kind: &FoundKind, target: &Target) -> Result<(), TargetError> {
        let identity = target.identity();
        let lanes = self.lanes.for_target(identity);
        let permit = lanes.read().await?;
        let before = self.version_of(identity);
        let response = tokio::time::timeout(REQUEST_TIMEOUT, self.get(kind, target)).await;
        permit.note(response.is_ok());
        let object = match response {
            Ok(Ok(object)) => object,
            Ok(Err(kube::Error::Api(status))) => {
                return Err(match status.code {
                    // The watch will deliver the target.
                    404 if self.is_followed(identity) => match before {
                        Some(_) => TargetError::Transient(status.message),
                        None => TargetError::Problem(TargetProblem::NotFound),
                    },
                    404 => {
                        // The response names a missing object. If the kind is missing, it is
                        // discovered again: perhaps in another version.
                        if status.details.as_ref().is_none_or(|it| it.name.is_empty()) {
                            self.remove_kind(identity);
                        }
                        self.cluster.lock().remove_target(identity);
                        TargetError::Problem(TargetProblem::NotFound)
                    }
                    403 => TargetError::Problem(TargetProblem::Forbidden(status.message)),
                    _ => TargetError::Transient(status.message),
                });
            }
            Ok(Err(error)) => return Err(TargetError::Transient(summarize(&error))),
            Err(_) => {
                let seconds = REQUEST_TIMEOUT.as_secs();
                return Err(TargetError::Transient(format!("no response within {seconds} s")));
            }
        };
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let mut state = self.cluster.lock();
        let listing = match state.targets.get(identity) {
            // Something newer was delivered or written in the meantime. A response that is older than the state before
            // the request is used, because versions have gone back.
            Some(found)
                if is_older(version, &found.version) && before.as_ref() != Some(&found.version) =>
            {
                return Ok(());
            }
            Some(found) => found.listing,
            // The policy for which the target was read is deleted, so no event would remove the target.
            None if !state.targets.has_policies(identity) => return Ok(()),
            None => 0,
        };
        let slim = match target {
            Target::Workload(_) => Some(Slim::Workload(slim::from_scale(&object))),
            Target::Autoscaler(_) => {
                Kind::for_object(identity).and_then(|kind| slim::from_object(kind, &object))
            }
        };
        if let Some(slim) = slim {
            state.world.upsert(identity.clone(), slim);
        }
        state.targets.insert(identity.clone(), TargetEntry { version: version.into(), listing });
        Ok(())
    }

    async fn get(&self, kind: &FoundKind, target: &Target) -> kube::Result<Value> {
        let collection = Request::new(kind.collection(target.identity()));
        let name = target.identity().name();
        let request = match target {
            Target::Workload(_) => collection.get_subresource("scale", name),
            Target::Autoscaler(_) => collection.get(name, &GetParams::default()),
        };
        self.client.request(request.map_err(kube::Error::BuildRequest)?).await
    }

    fn version_of(&self, target: &Identity) -> Option<Box<str>> {
        self.cluster.lock().targets.get(target).map(|found| found.version.clone())
    }
}
