//! The origin of a value: the writer and the reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::{EffectReason, PolicyName, Value, World};
use jiff::Timestamp;

/// The writer of a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Writer {
    /// The policy.
    pub policy: PolicyName,
    /// The rule by name, or the behavior as `behaviors[1]`; `None` when the policy as a whole
    /// decides.
    pub rule: Option<Arc<str>>,
}

/// The writer of a value, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// `None` when no policy has set it.
    pub writer: Option<Writer>,
    /// The reason, as a line for users.
    pub reason: Box<str>,
    /// Whether the other bound of an autoscaler had to move.
    pub moves_other_bound: bool,
}

impl Origin {
    fn without_writer(reason: &str) -> Arc<Origin> {
        Arc::new(Origin { writer: None, reason: reason.into(), moves_other_bound: false })
    }

    /// The value is the initial value, before any write of a policy.
    pub(crate) fn initial() -> Arc<Origin> {
        Origin::without_writer("initial value; no rule has set it yet")
    }

    /// The value is that of the object, and no policy sets it.
    pub(crate) fn standing() -> Arc<Origin> {
        Origin::without_writer("value of the object; no policy sets it")
    }

    /// The value is unknown.
    pub(crate) fn unknown() -> Arc<Origin> {
        Origin::without_writer("unknown; no rule has set it yet")
    }

    /// The value is unknown, and stays unknown.
    pub(crate) fn unknown_because(why: &str) -> Arc<Origin> {
        Origin::without_writer(&format!("unknown: {why}"))
    }

    /// The caller specified the value.
    pub(crate) fn assumed() -> Arc<Origin> {
        Origin::without_writer("assumed, as specified")
    }

    /// The value has moved because of a bound that the caller specified.
    pub(crate) fn made_way() -> Arc<Origin> {
        Origin::without_writer("moved to fit the assumed bound")
    }

    /// Another field manager has changed the value since a policy set it.
    pub(crate) fn changed_since(writer: &Writer, to: &Value, at: Option<Timestamp>) -> Arc<Origin> {
        let rule = writer.rule.as_deref().map_or(String::new(), |rule| format!(" {rule}"));
        let at = at.map_or(String::new(), |at| format!(" at {at:.0}"));
        let policy = &writer.policy;
        let reason = format!(
            "current value; {policy}{rule} set it to {to}{at}, but it has been changed since"
        );
        Origin::without_writer(&reason)
    }
}

/// The origins so far. A policy has few origins, which occur very often, so each origin is rendered once.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    known: BTreeMap<PolicyName, Vec<(EffectReason, Arc<Origin>)>>,
}

impl Origins {
    /// The origin of a value that a policy set for this reason.
    pub(crate) fn for_reason(
        &mut self,
        world: &World,
        policy: &PolicyName,
        reason: EffectReason,
    ) -> Option<Arc<Origin>> {
        let reason = reason.without_span();
        let of_policy = self.known.get(policy).map(Vec::as_slice).unwrap_or_default();
        if let Some((_, origin)) = of_policy.iter().find(|(known, _)| *known == reason) {
            return Some(Arc::clone(origin));
        }
        let (rule, text) = reason.render(world, &policy.identity)?;
        let writer = Some(Writer { policy: policy.clone(), rule });
        let moves_other_bound = reason.moves_other_bound();
        let origin = Arc::new(Origin { writer, reason: text.into(), moves_other_bound });
        self.known.entry(policy.clone()).or_default().push((reason, Arc::clone(&origin)));
        Some(origin)
    }
}
