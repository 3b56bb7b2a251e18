//! The requests for the fields of an object: which policies set them, and which of these wins.

use almanac_engine::{
    CurrentValue, Field, Identity, PolicyName, RankedRequest, Request, World, rank,
};
use jiff::Timestamp;

use crate::LastWrite;

/// The requests of policies for each of the fields, in their order.
pub(super) fn requests_in<'p>(
    world: &World,
    policies: &(impl Iterator<Item = &'p PolicyName> + Clone),
    target: &Identity,
    fields: &[(Field, LastWrite)],
    at: Timestamp,
) -> Vec<Vec<Request>> {
    let of_field = |(field, _): &(Field, LastWrite)| {
        policies
            .clone()
            .filter_map(|it| world.request(it, (target, *field), at))
            .collect::<Vec<_>>()
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
        let own = requests.iter().position(|it| Some(&it.policy) == by);
        let (value, since) = (write.value.clone(), write.since);
        match (own, by) {
            // A longer run dates the value than the request. A policy that cannot decide now has still set the value.
            (Some(own), _) if requests[own].value.is_none() || requests[own].value == value => {
                (requests[own].value, requests[own].since) = (value, since);
            }
            (None, Some(policy)) => {
                requests.push(Request { policy: policy.clone(), value, since, exempt: None });
            }
            _ => {}
        }
        (*field, rank(requests, CurrentValue { value: write.value.as_ref(), by }))
    };
    values.iter().zip(requests).map(of_field).collect()
}
