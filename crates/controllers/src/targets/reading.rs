//! Asking for one target by itself.

use std::time::Duration;

use almanac_api::kinds::Kind;
use almanac_api::slim;
use almanac_api::status::TargetProblem;
use almanac_engine::{Identity, Slim, Target};
use almanac_shell::writer::in_short;
use kube::api::GetParams;
use kube::core::Request;
use serde_json::Value;

use super::kind::Kind as FoundKind;
use super::{Targets, Unknown};
use crate::cluster::{Found, is_older};

/// An answer that takes longer is not waited for.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

impl Targets {
    /// Asks for a target as it is now, and puts it into the world.
    pub(super) async fn ask(&self, kind: &FoundKind, target: &Target) -> Result<(), Unknown> {
        let identity = target.identity();
        let lanes = self.lanes.of(identity);
        let slot = lanes.read().await?;
        let before = self.version_of(identity);
        let answer = tokio::time::timeout(ANSWER_WITHIN, self.get(kind, target)).await;
        slot.note(answer.is_ok());
        let object = match answer {
            Ok(Ok(object)) => object,
            Ok(Err(kube::Error::Api(status))) => {
                return Err(match status.code {
                    // The watch will tell.
                    404 if self.is_followed(identity) => match before {
                        Some(_) => Unknown::Passing(status.message),
                        None => Unknown::Problem(TargetProblem::NotFound),
                    },
                    404 => {
                        // An object that is missing is named. If it is the kind that is missing,
                        // it is looked for anew: in another version, say.
                        if status.details.as_ref().is_none_or(|it| it.name.is_empty()) {
                            self.forget_kind(identity);
                        }
                        self.forget(identity);
                        Unknown::Problem(TargetProblem::NotFound)
                    }
                    403 => Unknown::Problem(TargetProblem::Forbidden(status.message)),
                    _ => Unknown::Passing(status.message),
                });
            }
            Ok(Err(error)) => return Err(Unknown::Passing(in_short(&error))),
            Err(_) => {
                let seconds = ANSWER_WITHIN.as_secs();
                return Err(Unknown::Passing(format!("no answer within {seconds} s")));
            }
        };
        let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let mut known = self.cluster.lock();
        let listing = match known.targets.get(identity) {
            // Something newer was told or written meanwhile. An answer that is older than what was known
            // before it was asked for is true all the same: versions have gone back.
            Some(found)
                if is_older(version, &found.version) && before.as_ref() != Some(&found.version) =>
            {
                return Ok(());
            }
            Some(found) => found.listing,
            None => 0,
        };
        let slim = match target {
            Target::Workload(_) => Some(Slim::Workload(slim::of_scale(&object))),
            Target::Autoscaler(_) => {
                Kind::of_object(identity).and_then(|kind| slim::of_data(kind, &object))
            }
        };
        if let Some(slim) = slim {
            known.world.hold(identity.clone(), slim);
        }
        known.targets.insert(identity.clone(), Found { version: version.into(), listing });
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

    fn forget(&self, target: &Identity) {
        let mut known = self.cluster.lock();
        known.targets.remove(target);
        known.world.release(target);
    }
}
