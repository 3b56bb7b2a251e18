//! Quantities in Kubernetes objects, which may be strings or numbers.

use almanac_engine::metric_scaling::MetricTarget;
use almanac_engine::placement::Quantity;
use serde_json::Value as Json;

/// Parses a quantity above zero; `None` for any other value.
pub(crate) fn positive(text: &str) -> Option<MetricTarget> {
    MetricTarget::from_billionths(u128::try_from(Quantity::parse(text)?.billionths()).ok()?)
}

/// Reads a quantity from a string or a number; `None` for any other value.
pub(crate) fn from_json(written: &Json) -> Option<Quantity> {
    match written {
        Json::String(text) => Quantity::parse(text),
        Json::Number(number) => Quantity::parse(&number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_may_be_a_number_and_a_target_is_above_zero() {
        for (written, value) in [("1", "1"), ("500m", "0.5"), ("+1", "1"), ("1e-99", "0.000000001")]
        {
            let quantity = positive(written).map(|it| it.to_string());
            assert_eq!(quantity.as_deref(), Some(value), "{written}");
        }
        for bad in ["", "0", "-1", "0m", "ten"] {
            assert_eq!(positive(bad), None, "{bad}");
        }
        assert_eq!(from_json(&4.into()).map(Quantity::billionths), Some(4_000_000_000));
        assert_eq!(from_json(&"1500m".into()).map(Quantity::billionths), Some(1_500_000_000));
        assert_eq!([from_json(&"-".into()), from_json(&Json::Null)], [None; 2]);
    }
}
