//! Certificates that processes create themselves: a CA, a certificate that the CA signs for a server, and the time of
//! their renewal. Computes the desired certificates from the current certificates and the time.
//!
//! A client trusts a server by the CAs in the client's configuration, which arrive there some time after they were
//! published. So a new CA is published first, and signs nothing until it has been published for a while. The previous
//! one stays published for as long as a certificate of it may still be in use. Storage and publication are in
//! [`manager`].

mod making;
pub mod manager;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};

pub use self::making::CertificateError;
use self::making::{Validity, has_names, is_signed_by, make_authority, make_certificate};

/// A certificate and its key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key of the certificate.
    pub key: String,
}

/// Omits the key, because keys must not appear in logs.
impl std::fmt::Debug for Pair {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Pair")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// The stored certificates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredCertificates {
    /// The CA that signs.
    pub authority: Pair,
    /// The CA that signs next, published already.
    pub next: Option<Pair>,
    /// The certificate of the previous CA.
    pub previous: Option<String>,
    /// The serving certificate.
    pub serving: Pair,
}

/// The requirements on the certificates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateRequirements {
    /// The names and addresses of the server.
    pub names: Vec<String>,
    /// The lifetime of a serving certificate. A certificate is renewed when a third of its lifetime is left.
    pub lifetime: SignedDuration,
    /// The way in which clients learn to trust the CA.
    pub publishing: Publishing,
}

/// The names of the webhook configurations of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configurations {
    /// The `ValidatingWebhookConfiguration`, which must exist.
    pub validating: String,
    /// The `MutatingWebhookConfiguration`. Validating requests get responses even if this object cannot be written.
    pub mutating: Option<String>,
}

/// The way in which clients receive the CA that they trust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Publishing {
    /// The controller writes the CA into these objects, so the CA is replaced regularly.
    Into(Configurations),
    /// An administrator copies the CA, so it has a long lifetime.
    ByHand,
}

/// The lifetime of a CA, in lifetimes of a serving certificate.
const LIVES_OF_AN_AUTHORITY: i32 = 4;

/// The lifetime of a CA that an administrator copies: ten years.
const LIFE_OF_A_COPIED_AUTHORITY: SignedDuration = SignedDuration::from_hours(24 * 3652);

/// The remaining lifetime of a CA at which the next CA is created, in the same unit.
const LIVES_LEFT_AT_THE_NEXT: i32 = 2;

/// A new CA signs after it has been published for this fraction of the lifetime of a serving certificate.
const PART_TO_SETTLE: i32 = 10;

impl CertificateRequirements {
    /// The desired certificates; `None` if the current ones stay.
    pub fn decide(
        &self,
        kept: Option<&StoredCertificates>,
        now: Timestamp,
    ) -> Result<Option<StoredCertificates>, CertificateError> {
        let holds = |certificate: &String| {
            Validity::from_pem(certificate).is_ok_and(|validity| validity.holds_at(now))
        };
        let authority = kept.filter(|kept| self.can_sign(&kept.authority, now));
        let Some(kept) = authority else {
            let authority = make_authority(now, self.authority_lifetime())?;
            let serving = make_certificate(&authority, self, now)?;
            // Other replicas may still serve a certificate of the CA that can no longer sign.
            let previous = kept.map(|kept| kept.authority.certificate.clone()).filter(holds);
            return Ok(Some(StoredCertificates { authority, next: None, previous, serving }));
        };
        let mut renewed = kept.clone();
        renewed.previous = renewed.previous.filter(holds);
        // A copied bundle does not contain the next CA.
        let is_copied = self.publishing == Publishing::ByHand;
        renewed.next = renewed.next.filter(|next| !is_copied && self.can_sign(next, now));
        let remaining = Validity::from_pem(&renewed.authority.certificate)?.remaining(now);
        let is_due = !is_copied && remaining < self.lifetime * LIVES_LEFT_AT_THE_NEXT;
        if renewed.next.is_none() && is_due {
            renewed.next = Some(make_authority(now, self.authority_lifetime())?);
        }
        if let Some(next) = renewed.next.take() {
            if Validity::from_pem(&next.certificate)?.age(now) >= self.lifetime / PART_TO_SETTLE {
                renewed.previous = Some(renewed.authority.certificate);
                renewed.authority = next;
            } else {
                renewed.next = Some(next);
            }
        }
        if !self.serves(&renewed, now) {
            renewed.serving = make_certificate(&renewed.authority, self, now)?;
        }
        Ok((renewed != *kept).then_some(renewed))
    }

    /// The interval of the checks for renewal, short enough for a few checks before a new CA signs.
    #[must_use]
    pub fn interval(&self) -> SignedDuration {
        (self.lifetime / (PART_TO_SETTLE * 3))
            .clamp(SignedDuration::from_millis(100), SignedDuration::from_mins(1))
    }

    fn authority_lifetime(&self) -> SignedDuration {
        match self.publishing {
            Publishing::Into(..) => self.lifetime * LIVES_OF_AN_AUTHORITY,
            Publishing::ByHand => LIFE_OF_A_COPIED_AUTHORITY,
        }
    }

    /// The instant at which the certificate expires, or an administrator must copy another CA.
    fn holds_until(&self, kept: &StoredCertificates) -> Result<Timestamp, CertificateError> {
        let until = Validity::from_pem(&kept.serving.certificate)?.until();
        if matches!(self.publishing, Publishing::Into(..)) {
            return Ok(until);
        }
        let signs = Validity::from_pem(&kept.authority.certificate)?.until();
        Ok(until.min(signs.saturating_sub(self.lifetime).unwrap_or(signs)))
    }

    /// Whether a CA is valid long enough to sign a certificate with the full lifetime.
    fn can_sign(&self, authority: &Pair, now: Timestamp) -> bool {
        let lasts = || Validity::from_pem(&authority.certificate);
        making::belong_together(authority)
            && lasts().is_ok_and(|it| it.holds_at(now) && it.remaining(now) > self.lifetime)
    }

    /// Whether the serving certificate can stay in use.
    fn serves(&self, kept: &StoredCertificates, now: Timestamp) -> bool {
        let serving = &kept.serving;
        let lasts = Validity::from_pem(&serving.certificate);
        making::belong_together(serving)
            && is_signed_by(&serving.certificate, &kept.authority.certificate)
            && has_names(&serving.certificate, &self.names)
            && lasts.is_ok_and(|it| it.holds_at(now) && it.remaining(now) > self.lifetime / 3)
    }
}

impl StoredCertificates {
    /// The certificates of all trusted CAs, as PEM.
    #[must_use]
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|next| next.certificate.as_str());
        let all = [Some(&*self.authority.certificate), next, self.previous.as_deref()];
        let mut bundle = String::new();
        for certificate in all.into_iter().flatten() {
            bundle.push_str(certificate.trim_end());
            bundle.push('\n');
        }
        bundle
    }
}
