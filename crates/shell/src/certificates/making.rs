//! Creates certificates, and reads their validity.

use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _, date_time_ymd,
};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::{Pem, parse_x509_pem};

use super::{CertificateRequirements, Pair};

/// The maximum lag of the clocks of clients that verify a certificate.
const CLOCKS_APART: SignedDuration = SignedDuration::from_mins(5);

/// The reason that a certificate cannot be created or read.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The certificate cannot be created.
    #[error("failed to create a certificate: {0}")]
    Making(#[from] rcgen::Error),
    /// The string is not a certificate.
    #[error("failed to read a certificate: {0}")]
    Reading(String),
}

/// The period of validity of a certificate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    from: Timestamp,
    until: Timestamp,
}

impl Validity {
    pub(super) fn from_pem(certificate: &str) -> Result<Validity, CertificateError> {
        let pem = pem_of(certificate)?;
        let read = pem.parse_x509().map_err(|error| unreadable(&error))?;
        let instant = |seconds| Timestamp::from_second(seconds).map_err(|error| unreadable(&error));
        let validity = read.validity();
        let from = instant(validity.not_before.timestamp())?;
        Ok(Validity { from, until: instant(validity.not_after.timestamp())? })
    }

    pub(super) fn holds_at(self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }

    pub(super) fn until(self) -> Timestamp {
        self.until
    }

    pub(super) fn remaining(self, now: Timestamp) -> SignedDuration {
        self.until.duration_since(now)
    }

    /// The time since the certificate was created.
    pub(super) fn age(self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.from) - CLOCKS_APART
    }
}

/// Creates a CA.
pub(super) fn make_authority(
    now: Timestamp,
    lifetime: SignedDuration,
) -> Result<Pair, CertificateError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    // Each CA has a name of its own, by which a client that verifies a chain finds the right CA.
    let key_bytes = key.subject_public_key_info();
    let number = key_bytes.iter().rev().take(8).fold(0_u64, |all, it| all << 8 | u64::from(*it));
    params.distinguished_name.push(DnType::CommonName, format!("almanac {number:016x}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    set_validity(&mut params, now, lifetime);
    let certificate = params.self_signed(&key)?;
    Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// Creates a certificate for a server.
pub(super) fn make_certificate(
    authority: &Pair,
    requirements: &CertificateRequirements,
    now: Timestamp,
) -> Result<Pair, CertificateError> {
    let signing_key = KeyPair::from_pem(&authority.key)?;
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, signing_key)?;
    let mut params = CertificateParams::new(requirements.names.clone())?;
    let name = requirements.names.first().map_or("almanac", String::as_str);
    // Longer names are not allowed, and this one is informational.
    params.distinguished_name.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    set_validity(&mut params, now, requirements.lifetime);
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, lifetime: SignedDuration) {
    let instant = |at: Timestamp| {
        let seconds = u64::try_from(at.as_second()).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = instant(now.saturating_sub(CLOCKS_APART).unwrap_or(now));
    params.not_after = instant(now.saturating_add(lifetime).unwrap_or(now));
}

/// Whether the key of a pair belongs to its certificate.
pub(super) fn belong_together(pair: &Pair) -> bool {
    let Ok(key) = KeyPair::from_pem(&pair.key) else { return false };
    let of_certificate = |pem: Pem| {
        let read = pem.parse_x509().ok()?;
        Some(read.public_key().raw == key.subject_public_key_info())
    };
    pem_of(&pair.certificate).ok().and_then(of_certificate).unwrap_or(false)
}

/// Whether a CA has signed a certificate.
pub(super) fn is_signed_by(certificate: &str, authority: &str) -> bool {
    let (Ok(certificate), Ok(authority)) = (pem_of(certificate), pem_of(authority)) else {
        return false;
    };
    let (Ok(certificate), Ok(authority)) = (certificate.parse_x509(), authority.parse_x509())
    else {
        return false;
    };
    certificate.verify_signature(Some(authority.public_key())).is_ok()
}

/// Whether a certificate is for these names, and no others.
pub(super) fn has_names(certificate: &str, names: &[String]) -> bool {
    let names_of = |pem: Pem| {
        let read = pem.parse_x509().ok()?;
        let alternative = read.subject_alternative_name().ok()??;
        let names = alternative.value.general_names.iter();
        names.map(name_in_text).collect::<Option<Vec<String>>>()
    };
    let Some(mut has) = pem_of(certificate).ok().and_then(names_of) else { return false };
    let mut expected = names.to_vec();
    has.sort();
    expected.sort();
    has == expected
}

fn name_in_text(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(octets) => {
            let v4 = <[u8; 4]>::try_from(*octets).map(IpAddr::from);
            let v6 = || <[u8; 16]>::try_from(*octets).map(IpAddr::from);
            Some(v4.or_else(|_| v6()).ok()?.to_string())
        }
        _ => None,
    }
}

fn pem_of(text: &str) -> Result<Pem, CertificateError> {
    parse_x509_pem(text.as_bytes()).map(|(_, pem)| pem).map_err(|error| unreadable(&error))
}

fn unreadable(error: &dyn std::fmt::Display) -> CertificateError {
    CertificateError::Reading(error.to_string())
}
