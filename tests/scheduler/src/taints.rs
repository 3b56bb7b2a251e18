//! The third step: the tolerated taints, and the ends of the tolerations.

use jiff::Timestamp;
use serde_json::Value;

use crate::objects::{instant, list};

/// The effect of the taints of a cluster.
pub(crate) enum Tainted {
    /// The cluster must not be selected.
    Out {
        /// The taint that excludes the cluster.
        taint: String,
        /// The end of the toleration; `None` if the taint was never tolerated.
        ended: Option<Timestamp>,
    },
    /// The cluster may be selected.
    In {
        /// Other clusters with the same total go first.
        is_last: bool,
    },
}

pub(crate) fn tainted(
    placement: &Value,
    cluster: &Value,
    is_decided: bool,
    now: Timestamp,
) -> Tainted {
    let taints = list(&cluster["spec"]["taints"]);
    let mut is_last = false;
    for taint in taints.iter().filter(|it| !is_tolerated(placement, it, now)) {
        match taint["effect"].as_str() {
            Some("PreferNoSelect") => is_last = true,
            Some("NoSelectIfNew") if is_decided => {}
            _ => {
                return Tainted::Out { taint: written(taint), ended: ended(placement, taint) };
            }
        }
    }
    Tainted::In { is_last }
}

/// `key=value:effect`, or `key:effect`.
fn written(taint: &Value) -> String {
    let text = |field: &str| taint[field].as_str().unwrap_or_default();
    let value = text("value");
    let equals = if value.is_empty() { "" } else { "=" };
    format!("{}{equals}{value}:{}", text("key"), text("effect"))
}

fn matching<'v>(placement: &'v Value, taint: &'v Value) -> impl Iterator<Item = &'v Value> {
    let tolerations = list(&placement["spec"]["tolerations"]).iter();
    tolerations.filter(move |toleration| is_about(toleration, taint))
}

fn is_tolerated(placement: &Value, taint: &Value, now: Timestamp) -> bool {
    let mut matching = matching(placement, taint);
    matching.any(|it| ends_at(it, taint).is_none_or(|end| now.as_nanosecond() < end))
}

/// The instant at which the last of the tolerations of a taint expired.
fn ended(placement: &Value, taint: &Value) -> Option<Timestamp> {
    let end = matching(placement, taint).filter_map(|it| ends_at(it, taint)).max()?;
    Timestamp::from_nanosecond(end).ok()
}

/// Whether a cluster has a taint that is tolerated only because its time of addition is missing.
pub(crate) fn is_undated(placement: &Value, cluster: &Value) -> bool {
    list(&cluster["spec"]["taints"]).iter().any(|taint| {
        let counts = taint["effect"] != "NoSelectIfNew" && taint["timeAdded"].is_null();
        let mut matching = matching(placement, taint).peekable();
        counts && matching.peek().is_some() && matching.all(|it| !it["tolerationSeconds"].is_null())
    })
}

/// Whether a toleration matches a taint, at any time.
fn is_about(toleration: &Value, taint: &Value) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (key, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
    (effect.is_empty() || effect == text(&taint["effect"]))
        && (key.is_empty() || key == text(&taint["key"]))
        && (toleration["operator"] == "Exists"
            || text(&toleration["value"]) == text(&taint["value"]))
}

/// The instant at which a toleration expires, in nanoseconds. A toleration without a period, or without a start of the
/// period, never expires.
pub(crate) fn ends_at(toleration: &Value, taint: &Value) -> Option<i128> {
    let seconds = toleration["tolerationSeconds"].as_i64()?;
    if taint["effect"] == "NoSelectIfNew" {
        return None;
    }
    let added = instant(&taint["timeAdded"])?;
    Some(added.as_nanosecond() + i128::from(seconds) * 1_000_000_000)
}

/// Whether the tolerations are valid.
pub(crate) fn are_usable(placement: &Value) -> bool {
    list(&placement["spec"]["tolerations"]).iter().all(|it| {
        let is_given = |field: &str| it[field].as_str().is_some_and(|text| !text.is_empty());
        match it["operator"].as_str() {
            Some("Exists") => !is_given("value"),
            None | Some("" | "Equal") => is_given("key"),
            Some(_) => false,
        }
    })
}
