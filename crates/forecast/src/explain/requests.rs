//! The requests for the fields of an object: the policies that set them, and the winner.

use almanac_engine::{
    CurrentValue, Field, Identity, Inactive, PolicyName, RankedRequest, Request, World, rank,
};
use jiff::Timestamp;

use crate::LastWrite;

/// The requests of policies for each of the fields, in their order; each policy with the world that contains it.
pub(super) fn requests_in<'p>(
    policies: &(impl Iterator<Item = (&'p World, &'p PolicyName)> + Clone),
    target: &Identity,
    fields: &[(Field, LastWrite)],
    at: Timestamp,
) -> Vec<Vec<Request>> {
    let of_field = |(field, _): &(Field, LastWrite)| {
        let requests =
            policies.clone().filter_map(|(world, it)| world.request(it, (target, *field), at));
        requests.collect::<Vec<_>>()
    };
    fields.iter().map(of_field).collect()
}

/// Ranks the requests for each field. A policy that sets fields of its own object requests what it has set.
pub(super) fn ranked(
    values: &[(Field, LastWrite)],
    requests: Vec<Vec<Request>>,
) -> Vec<(Field, Vec<RankedRequest>)> {
    let of_field = |((field, write), mut requests): (&(Field, LastWrite), Vec<Request>)| {
        let by = write.origin.writer.as_ref().map(|writer| &writer.policy);
        if let Some(by) = by {
            match requests.iter_mut().find(|it| it.policy == *by) {
                Some(own) => complete(own, write),
                None => requests.push(set_by(by, write)),
            }
        }
        (*field, rank(requests, CurrentValue { value: write.value.as_ref(), by }))
    };
    values.iter().zip(requests).map(of_field).collect()
}

/// Completes the request of the policy that has set the current value. A longer run dates the value than the request,
/// but not the recommendation of an autoscaler, which may be older than the value.
fn complete(own: &mut Request, write: &LastWrite) {
    match &own.value {
        // A policy that cannot decide now has still set the value.
        Err(_) => *own = set_by(&own.policy, write),
        Ok(value) if write.value.as_ref() == Some(value) => {
            let (first, second) = (own.since, write.since);
            own.since =
                if own.policy.family.writes_again() { first.or(second) } else { second.or(first) };
        }
        Ok(_) => {}
    }
}

/// The request for a value that a policy has set.
fn set_by(policy: &PolicyName, write: &LastWrite) -> Request {
    let value = write.value.clone().ok_or(Inactive::TargetUnknown);
    Request { policy: policy.clone(), value, since: write.since, applied: write.since }
}
