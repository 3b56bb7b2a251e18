//! Certificates that processes make themselves: a CA, a certificate that it signs for a server, and when each of them
//! is renewed. Computes the desired certificates from the current ones and the time.
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
    /// Its key.
    pub key: String,
}

/// Keys are not for logs.
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
    /// The authority that signs.
    pub authority: Pair,
    /// The CA that signs next, published already.
    pub next: Option<Pair>,
    /// The certificate of the previous CA.
    pub previous: Option<String>,
    /// The certificate of the server.
    pub serving: Pair,
}

/// The requirements on the certificates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CertificateRequirements {
    /// The names and addresses by which the server is called.
    pub names: Vec<String>,
    /// The lifetime of a certificate of the server. It is renewed when a third of that is left.
    pub lifetime: SignedDuration,
    /// The way in which clients come to trust its authority.
    pub publishing: Publishing,
}

/// The names of the webhook configurations of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Configurations {
    /// The `ValidatingWebhookConfiguration`, which must exist.
    pub validating: String,
    /// The `MutatingWebhookConfiguration`. Validating requests get responses also while it cannot be written.
    pub mutating: Option<String>,
}

/// The way in which clients come to trust an authority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Publishing {
    /// The controller writes it into these objects, so it is replaced now and then.
    Into(Configurations),
    /// An administrator copies it there, so it lasts.
    ByHand,
}

/// The lifetime of an authority, in lifetimes of a server's certificate.
const LIVES_OF_AN_AUTHORITY: i32 = 4;

/// An authority that an administrator copies lasts for ten years.
const LIFE_OF_A_COPIED_AUTHORITY: SignedDuration = SignedDuration::from_hours(24 * 3652);

/// The rest of its lifetime at which the next authority is made, in the same unit.
const LIVES_LEFT_AT_THE_NEXT: i32 = 2;

/// A new authority signs when it has been published for this part of a certificate's life.
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
            // Others may still show a certificate of the CA that can no longer sign.
            let previous = kept.map(|kept| kept.authority.certificate.clone()).filter(holds);
            return Ok(Some(StoredCertificates { authority, next: None, previous, serving }));
        };
        let mut renewed = kept.clone();
        renewed.previous = renewed.previous.filter(holds);
        // A copied bundle does not contain the next authority.
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

    /// The interval of the checks for renewal: a few times before a new authority signs.
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

    /// The instant at which the certificate expires, or an administrator must copy another authority.
    fn holds_until(&self, kept: &StoredCertificates) -> Result<Timestamp, CertificateError> {
        let until = Validity::from_pem(&kept.serving.certificate)?.until();
        if matches!(self.publishing, Publishing::Into(..)) {
            return Ok(until);
        }
        let signs = Validity::from_pem(&kept.authority.certificate)?.until();
        Ok(until.min(signs.saturating_sub(self.lifetime).unwrap_or(signs)))
    }

    /// Whether an authority can sign a certificate that lasts as long as it should.
    fn can_sign(&self, authority: &Pair, now: Timestamp) -> bool {
        let lasts = || Validity::from_pem(&authority.certificate);
        making::belong_together(authority)
            && lasts().is_ok_and(|it| it.holds_at(now) && it.remaining(now) > self.lifetime)
    }

    /// Whether the server's certificate can go on to be shown.
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
    /// The certificates of all authorities to trust, as PEM.
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
