//! Over a long time, a CA bundle that was published a while ago always verifies the serving certificate.

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("an instant")
}

fn requirements() -> CertificateRequirements {
    let names = ["almanac-webhook.almanac-system.svc", "127.0.0.1"].map(str::to_owned).to_vec();
    let publishing =
        Publishing::Into(Configurations { validating: "almanac".to_owned(), mutating: None });
    CertificateRequirements { names, lifetime: SignedDuration::from_secs(3000), publishing }
}

fn first() -> StoredCertificates {
    requirements()
        .decide(None, at(0))
        .expect("create certificates")
        .expect("the first certificates")
}

#[test]
fn new_certificates_stay() {
    let kept = first();
    assert_eq!(requirements().decide(Some(&kept), at(1)).expect("read the certificates"), None);
    assert_eq!(requirements().decide(Some(&kept), at(1900)).expect("read the certificates"), None);
}

#[test]
fn a_certificate_is_renewed_by_the_same_authority_when_a_third_of_its_life_is_left() {
    let kept = first();
    let renewed = requirements().decide(Some(&kept), at(2001)).expect("read the certificates");
    let renewed = renewed.expect("a due renewal");
    assert_ne!(renewed.serving, kept.serving);
    assert_eq!((renewed.authority, renewed.next), (kept.authority, None));
}

#[test]
fn a_certificate_for_other_names_is_replaced() {
    let kept = first();
    let other = CertificateRequirements { names: vec!["elsewhere".to_owned()], ..requirements() };
    let replaced =
        other.decide(Some(&kept), at(1)).expect("read the certificates").expect("a replacement");
    assert!(has_names(&replaced.serving.certificate, &other.names));
    assert_eq!(replaced.authority, kept.authority);
}

#[test]
fn mismatched_certificates_are_replaced() {
    let (kept, other) = (first(), first());
    let mixed = |change: fn(&mut StoredCertificates, StoredCertificates)| {
        let mut mixed = kept.clone();
        change(&mut mixed, other.clone());
        requirements()
            .decide(Some(&mixed), at(1))
            .expect("create certificates")
            .expect("a replacement")
    };
    for repaired in [
        mixed(|kept, other| kept.authority.key = other.authority.key),
        mixed(|kept, other| kept.serving.key = other.serving.key),
        mixed(|kept, other| kept.serving = other.serving),
        mixed(|kept, _| kept.authority.key = "garbage".to_owned()),
        mixed(|kept, _| kept.authority.certificate = String::new()),
        mixed(|kept, _| kept.serving.certificate = "garbage".to_owned()),
    ] {
        assert!(requirements().serves(&repaired, at(1)));
        assert_eq!(
            requirements().decide(Some(&repaired), at(2)).expect("read the certificates"),
            None
        );
    }
}

/// Five years of checks at random intervals. Every serving certificate is verified by a current bundle, and by a
/// bundle as old as the time for which a new CA is published before it signs.
#[test]
fn an_older_ca_bundle_verifies_the_serving_certificate() {
    let requirements = requirements();
    let mut random = fastrand::Rng::with_seed(7);
    let (mut kept, mut now) = (first(), 0);
    let mut published = vec![(now, kept.bundle())];
    let (mut renewals, mut authorities) = (0, 0);
    while now < 400_000 {
        now += random.i64(10..90);
        if let Some(next) = requirements.decide(Some(&kept), at(now)).expect("create certificates")
        {
            renewals += i32::from(next.serving != kept.serving);
            authorities += i32::from(next.authority != kept.authority);
            kept = next;
            published.push((now, kept.bundle()));
        }
        let settled = published.iter().rev().find(|(since, _)| *since <= now - 300);
        for bundle in
            [settled.map(|(_, bundle)| bundle), Some(&kept.bundle())].into_iter().flatten()
        {
            let is_checked = bundle
                .split_inclusive("-----END CERTIFICATE-----\n")
                .any(|authority| is_signed_by(&kept.serving.certificate, authority));
            assert!(is_checked, "at {now} after {renewals} renewals");
        }
        let validity =
            Validity::from_pem(&kept.serving.certificate).expect("read the certificates");
        assert!(validity.holds_at(at(now)));
    }
    assert!(renewals > 150 && authorities > 10, "{renewals} renewals, {authorities} authorities");
}

#[test]
fn an_expired_authority_is_replaced_immediately() {
    let kept = first();
    let later = at(1_000_000);
    let replaced = requirements()
        .decide(Some(&kept), later)
        .expect("create certificates")
        .expect("a replacement");
    assert!(requirements().serves(&replaced, later));
    assert_eq!(replaced.previous, None);
}

#[test]
fn a_next_ca_never_signs_once_the_ca_is_copied_manually() {
    let mut kept = first();
    kept.next = Some(kept.authority.clone());
    let by_hand = CertificateRequirements { publishing: Publishing::ByHand, ..requirements() };
    let decided =
        by_hand.decide(Some(&kept), at(1)).expect("read the certificates").expect("a change");
    assert_eq!((decided.next, decided.authority), (None, kept.authority));
}

#[test]
fn a_manually_copied_ca_lasts_ten_years_and_its_expiry_is_reported_in_time() {
    let day = 24 * 3600;
    let lifetime = SignedDuration::from_hours(24 * 30);
    let requirements =
        CertificateRequirements { lifetime, publishing: Publishing::ByHand, ..requirements() };
    let decide = |kept: Option<&StoredCertificates>, now| {
        requirements.decide(kept, at(now)).expect("create certificates")
    };
    let first = decide(None, 0).expect("the first certificates");
    let (mut kept, mut now, mut renewals) = (first.clone(), 0, 0);
    let holds_for = |kept: &StoredCertificates, now| {
        requirements
            .holds_until(kept)
            .expect("read the certificates")
            .duration_since(at(now))
            .as_hours()
            / 24
    };
    loop {
        if let Some(next) = decide(Some(&kept), now) {
            if next.authority != first.authority {
                break;
            }
            kept = next;
            renewals += 1;
        }
        assert_eq!(kept.next, None, "at {now}");
        assert_eq!(holds_for(&kept, now) < 5, now > 3617 * day, "after {} days", now / day);
        now += 20 * day;
    }
    assert!(now > 3620 * day && renewals > 150, "{} days, {renewals} renewals", now / day);
}

#[test]
fn certificates_without_a_last_line_break_are_joined_by_one() {
    let mut kept = first();
    let bare: String = kept.authority.certificate.trim_end().into();
    kept.authority.certificate = bare.clone();
    kept.previous = Some(bare.clone());
    assert_eq!(kept.bundle(), format!("{bare}\n{bare}\n"));
}
