//! The rules for a `HorizontalAutoscaler` and other autoscalers.

use almanac_engine::Target;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Checked;
use super::target::check_target;
use crate::finding::{Code, Finding, Path, Severity};
use crate::objects::{FederatedHPASpec, HorizontalAutoscalerSpec, PrometheusMetric};

/// Checks a `HorizontalAutoscaler`. Its value is the target it scales.
pub(super) fn check(written: &HorizontalAutoscalerSpec, namespace: &str) -> Checked<Target> {
    let mut findings = Vec::new();
    let spec = Path::Root.key("spec");
    let reference = spec.key("scaleTargetRef");
    let target = check_target(&written.scale_target_ref, &reference, namespace, &mut findings);
    let (min, max) = (written.min_replicas, written.max_replicas);
    for (name, bound) in [("minReplicas", min), ("maxReplicas", max)] {
        if bound < 0 {
            let why = "must be greater than or equal to 0";
            findings.push(Finding::invalid(Code::OutOfRange, &spec.key(name), bound, why));
        }
    }
    check_order(min, max, &spec, &mut findings);
    let list = spec.key("metrics");
    for (position, metric) in written.metrics.iter().enumerate() {
        let metric_path = list.index(position);
        check_metric(&metric.prometheus, &metric_path.key("prometheus"), &mut findings);
    }
    let sound = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    let target = target.filter(|_| sound).map(|reference| reference.target);
    Checked { value: target, findings }
}

/// Checks a `FederatedHPA`: its bounds, and what it scales, which is its value.
pub(super) fn check_federated(written: &FederatedHPASpec, namespace: &str) -> Checked<Target> {
    let mut findings = Vec::new();
    let spec = Path::Root.key("spec");
    let reference = spec.key("scaleTargetRef");
    let target = check_target(&written.scale_target_ref, &reference, namespace, &mut findings);
    let (min, max) = (written.min_replicas.unwrap_or(1), written.max_replicas);
    for (name, bound, least) in [("minReplicas", min, 0), ("maxReplicas", max, 1)] {
        if bound < least {
            let why = format!("must be greater than or equal to {least}");
            findings.push(Finding::invalid(Code::OutOfRange, &spec.key(name), bound, &why));
        }
    }
    if written.min_replicas.is_some() {
        check_order(min, max, &spec, &mut findings);
    }
    let sound = !findings.iter().any(|finding| finding.severity() == Severity::Error);
    let target = target.filter(|_| sound).map(|reference| reference.target);
    Checked { value: target, findings }
}

fn check_order(min: i32, max: i32, spec: &Path<'_>, findings: &mut Vec<Finding>) {
    if min > max {
        let why = format!("must not exceed maxReplicas, which is {max}");
        findings.push(Finding::invalid(Code::CrossedBounds, &spec.key("minReplicas"), min, &why));
    }
}

fn check_metric(metric: &PrometheusMetric, path: &Path<'_>, findings: &mut Vec<Finding>) {
    let query = path.key("query");
    if metric.query.trim().is_empty() {
        findings.push(Finding::required(&query, "a PromQL query"));
    } else if let Some((aggregation, joined)) = several_vectors(&metric.query) {
        let why = format!("{aggregation} takes one vector in PromQL; join several with 'or'");
        findings.push(
            Finding::invalid(Code::Query, &query, &metric.query, &why)
                .with_fix(format!("write {joined}")),
        );
    }
    let target = path.key("target");
    if !is_positive(&metric.target.value) {
        let why = "must be a quantity greater than 0, such as 10 or 500m";
        findings.push(Finding::invalid(
            Code::OutOfRange,
            &target.key("value"),
            &metric.target.value.0,
            why,
        ));
    }
}

/// `max(a, b)`, which Prometheus rejects, and the intended query.
fn several_vectors(query: &str) -> Option<(&'static str, String)> {
    let trimmed = query.trim();
    let (name, inside) = ["max", "min", "sum", "avg", "count"].into_iter().find_map(|name| {
        let inside =
            trimmed.strip_prefix(name)?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
        Some((name, inside))
    })?;
    let parts = split_at_commas(inside)?;
    (parts.len() > 1).then(|| (name, format!("{name}({})", parts.join(" or "))))
}

/// Splits at the commas that stand outside brackets and quotes; `None` when a bracket is closed
/// that was never opened.
fn split_at_commas(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut depth, mut begin, mut quote, mut escaped) = (0_u32, 0, None, false);
    for (byte, letter) in text.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ',') if depth == 0 => {
                parts.push(text[begin..byte].trim());
                begin = byte + 1;
            }
            _ => {}
        }
    }
    parts.push(text[begin..].trim());
    Some(parts)
}

/// Whether a quantity is valid, and above zero.
fn is_positive(quantity: &Quantity) -> bool {
    let text = quantity.0.as_str();
    let digits = text
        .find(|letter: char| !matches!(letter, '0'..='9' | '.' | '+' | '-'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|rest| rest.parse::<i8>().is_ok());
    let known = matches!(
        suffix,
        "" | "n"
            | "u"
            | "m"
            | "k"
            | "M"
            | "G"
            | "T"
            | "P"
            | "E"
            | "Ki"
            | "Mi"
            | "Gi"
            | "Ti"
            | "Pi"
            | "Ei"
    );
    (known || exponent) && number.parse::<f64>().is_ok_and(|number| number > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_between_vectors_is_distinguished_from_commas_within_them() {
        assert_eq!(
            several_vectors(r#"max(a{x="1",y=","}, b{name="schedules"})"#),
            Some(("max", r#"max(a{x="1",y=","} or b{name="schedules"})"#.to_owned()))
        );
        assert_eq!(several_vectors("max(a or b)"), None);
        assert_eq!(several_vectors("max(a) + min(b, c)"), None);
        assert_eq!(several_vectors("quantile(0.9, a)"), None);
    }

    #[test]
    fn quantities_are_numbers_with_a_kubernetes_suffix() {
        for good in ["1", "0.5", "500m", "2Gi", "1e3", "+1"] {
            assert!(is_positive(&Quantity(good.to_owned())), "{good}");
        }
        for bad in ["", "0", "-1", "1x", "m", "1.2.3", "ten", "0m"] {
            assert!(!is_positive(&Quantity(bad.to_owned())), "{bad}");
        }
    }
}
