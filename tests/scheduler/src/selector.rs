//! Label selectors, and selectors of claims. The latter have no `matchLabels`.

use serde_json::Value;

use crate::objects::list;

/// Whether a selector matches; `lookup` returns the value of a key. An absent selector matches everything.
pub(crate) fn matches<'a>(selector: &Value, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut labels = labels.map(|(key, value)| lookup(key) == value.as_str());
    labels.all(|matches| matches)
        && list(&selector["matchExpressions"]).iter().all(|it| expression(it, &lookup))
}

fn expression<'a>(expression: &Value, lookup: &impl Fn(&str) -> Option<&'a str>) -> bool {
    let value = lookup(expression["key"].as_str().unwrap_or_default());
    let is_listed =
        value.is_some_and(|value| list(&expression["values"]).iter().any(|it| it == value));
    match expression["operator"].as_str() {
        Some("In") => is_listed,
        Some("NotIn") => !is_listed,
        Some("Exists") => value.is_some(),
        Some("DoesNotExist") => value.is_none(),
        _ => false,
    }
}

/// Whether a selector is valid: each operator exists, and has values exactly if it requires values.
pub(crate) fn is_usable(selector: &Value) -> bool {
    list(&selector["matchExpressions"]).iter().all(|it| {
        let has_values = !list(&it["values"]).is_empty();
        match it["operator"].as_str() {
            Some("In" | "NotIn") => has_values,
            Some("Exists" | "DoesNotExist") => !has_values,
            _ => false,
        }
    })
}

/// Whether a cluster matches by its labels and by its claims.
pub(crate) fn matches_cluster(selector: &Value, cluster: &Value) -> bool {
    let labels = &cluster["metadata"]["labels"];
    let claims = list(&cluster["status"]["clusterClaims"]);
    matches(&selector["labelSelector"], |key| labels[key].as_str())
        && matches(&selector["claimSelector"], |key| {
            claims.iter().find(|it| it["name"] == key).and_then(|it| it["value"].as_str())
        })
}
