//! Every rule by which the name of a zone is rejected, with the whole message.

use almanac_calendar::Zone;

fn assert_zone(name: &str, message: &str) {
    assert_eq!(Zone::named(name).expect_err(name).to_string(), message, "{name}");
}

#[test]
fn an_empty_zone_should_be_omitted() {
    assert_zone("", "a time zone is an IANA name such as Europe/Berlin; leave it out for UTC");
}

#[test]
fn local_is_not_a_zone() {
    assert_zone(
        "Local",
        "`Local` is a different zone on every machine; write an IANA name such as Europe/Berlin, \
         or leave it out for UTC",
    );
}

#[test]
fn an_offset_is_not_a_zone() {
    assert_zone(
        "+08:00",
        "an offset is not a time zone, because it has no clock changes; write Asia/Shanghai for this offset all year",
    );
    assert_zone(
        "-08:00",
        "an offset is not a time zone, because it has no clock changes; write Etc/GMT+8, whose sign is reversed, for \
         this offset all year, or America/Los_Angeles, which has it in winter",
    );
}

#[test]
fn an_abbreviation_is_not_a_zone() {
    assert_zone(
        "CST",
        "`CST` is an abbreviation, not a time zone; write America/Chicago or Asia/Shanghai",
    );
}

#[test]
fn factory_is_not_a_zone() {
    assert_zone(
        "Factory",
        "`Factory` means that no time zone was set; write an IANA name such as Europe/Berlin",
    );
}

#[test]
fn the_letter_case_of_a_zone_matters() {
    for name in ["europe/berlin", "EUROPE/BERLIN", "europe/Berlin"] {
        assert_zone(name, "time zone names are case-sensitive; write Europe/Berlin");
    }
    assert_zone("utc", "time zone names are case-sensitive; write UTC");
}

#[test]
fn an_unknown_zone_suggests_the_nearest_name() {
    assert_zone(
        "Europe/Berln",
        "`Europe/Berln` is not an IANA time zone; the nearest name is Europe/Berlin",
    );
    assert_zone(
        "Mars/Olympus",
        &format!(
            "`Mars/Olympus` is not an IANA time zone (tzdata {}); names look like Europe/Berlin",
            almanac_calendar::tzdata_version()
        ),
    );
}
