//! The object that was probably intended by a name without a match.

use almanac_api::kinds::kind_named;
use almanac_engine::Identity;

use super::{Subject, called};

impl Subject {
    /// The text to type for the object with the nearest name, if one is near enough. Another namespace counts as one
    /// character. The kind may be after the name.
    pub(crate) fn similar(&self, known: impl Iterator<Item = Identity>) -> Option<String> {
        let known: Vec<Identity> = known.collect();
        self.nearest(&known).or_else(|| self.reversed()?.nearest(&known))
    }

    /// `KIND/NAME` for a subject that is written as `NAME/KIND`.
    fn reversed(&self) -> Option<Subject> {
        let (name, kind) = self.text.rsplit_once('/')?;
        kind_named(kind)?;
        Subject::parse("NAME", &format!("{kind}/{name}")).ok()
    }

    fn nearest(&self, known: &[Identity]) -> Option<String> {
        let parts: Vec<&str> = self.text.split('/').collect();
        let (name, prefix) = parts.split_last()?;
        let (kind, namespace) = (self.kind.as_deref(), prefix.get(1));
        let distance = |identity: &Identity| {
            let of_name = near(name, identity.name())?;
            let of_kind = kind.map_or(Some(0), |kind| near(kind, identity.kind()))?;
            let of_namespace = namespace.is_some_and(|it| *it != identity.namespace());
            Some(of_name + of_kind + usize::from(of_namespace))
        };
        let near = known.iter().filter_map(|it| Some((distance(it)?, called(it))));
        near.min().map(|(_, called)| called)
    }
}

/// The number of characters in which two names differ, ignoring case; `None` if too many. A short name may differ in
/// one character.
fn near(typed: &str, name: &str) -> Option<usize> {
    // A longer name is not a typo, and the comparison would take long.
    const MAX_LENGTH: usize = 64;
    if typed.len() > MAX_LENGTH {
        return None;
    }
    let distance = strsim::osa_distance(&typed.to_ascii_lowercase(), &name.to_ascii_lowercase());
    (distance <= 1 + typed.len() / 6).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_kind_or_namespace_suggests_the_nearest_object() {
        let objects = || {
            [
                Identity::new("apps", "Deployment", "prod", "checkout"),
                Identity::new("apps", "StatefulSet", "prod", "checkout-db"),
                Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "test", "checkout"),
            ]
            .into_iter()
        };
        let similar = |text: &str| Subject::parse("NAME", text).unwrap().similar(objects());
        for (typed, meant) in [
            ("chekcout-db", "StatefulSet/prod/checkout-db"),
            ("deployment/checkot", "Deployment/prod/checkout"),
            ("deploymnet/checkout", "Deployment/prod/checkout"),
            ("deploy/test/checkout", "Deployment/prod/checkout"),
            ("cronfhpa/prod/checkout", "CronFederatedHPA/test/checkout"),
            ("checkout/deploy", "Deployment/prod/checkout"),
            ("prod/chekcout-db/sts", "StatefulSet/prod/checkout-db"),
            ("Checkout", "CronFederatedHPA/test/checkout"),
        ] {
            assert_eq!(similar(typed).as_deref(), Some(meant), "{typed}");
        }
        for typed in ["shop", "mp/checkout", "node/prod/checkout", &"checkout".repeat(20)] {
            assert_eq!(similar(typed), None, "{typed}");
        }
    }
}
