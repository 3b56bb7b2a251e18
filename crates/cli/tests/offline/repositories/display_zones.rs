//! The time zone that is displayed: by a flag, by the environment, by `almanac.toml`, or else by the policies.

use std::process::Command;

use crate::repositories::repository::{PRESENT, Ran, Repository, policy};

const SETTINGS: &str = "[display]\nzone = \"Asia/Tokyo\"\n";

fn shop(name: &str) -> Repository {
    let in_berlin = policy("shop-hours", "shop", 3).replace("}\n", ", timeZone: Europe/Berlin}\n");
    let text = in_berlin.replace("name: shop, timeZone: Europe/Berlin}", "name: shop}");
    Repository::new(name).file("shop.yaml", text)
}

/// The commands that display instants.
const COMMANDS: [&[&str]; 3] = [
    &["forecast", "shop.yaml", "--from", PRESENT, "--for", "1d"],
    &["next", "shop.yaml", "--from", PRESENT, "--count", "1"],
    &["explain", "shop.yaml", "--at", PRESENT],
];

#[track_caller]
fn printed(mut command: Command) -> String {
    let ran = Ran::from_output(&command.env_remove("TZ").output().unwrap());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

#[test]
fn without_a_choice_every_command_displays_the_zone_of_the_policies() {
    let repository = shop("zone-of-policies");
    for command in COMMANDS {
        let output_text = printed(repository.command(command));
        assert!(
            output_text.contains("+01:00") && !output_text.contains("UTC"),
            "{command:?}: {output_text}"
        );
    }
    let utc = shop("zone-of-none").file("other.yaml", policy("other", "other", 1));
    let next = ["next", ".", "--from", "2026-11-20", "--count", "1", "-o", "json"];
    let output = utc.run(&next).json();
    assert_eq!(output["items"][0]["at"], "2026-11-20T07:00:00Z", "midnight is that of UTC");
}

#[test]
fn a_flag_overrides_the_environment_which_overrides_the_settings() {
    let repository = shop("zone-order").file("almanac.toml", SETTINGS).file("deep/a.txt", "");
    for command in COMMANDS {
        let with_variable = |arguments: &[&str]| {
            let mut command = repository.command(&[command, arguments].concat());
            command.env("ALMANAC_ZONE", "Asia/Kathmandu");
            printed(command)
        };
        let by_settings = printed(repository.command(command));
        assert!(by_settings.contains("+09:00"), "{command:?}: {by_settings}");
        let by_variable = with_variable(&[]);
        assert!(by_variable.contains("+05:45") && !by_variable.contains("+09:00"), "{by_variable}");
        let by_flag = with_variable(&["--zone", "America/Bogota"]);
        assert!(by_flag.contains("-05:00") && !by_flag.contains("+05:45"), "{by_flag}");
    }
    // From the current directory upwards.
    let mut below =
        repository.command(&["next", "../shop.yaml", "--from", PRESENT, "--count", "1"]);
    below.current_dir(repository.root().join("deep"));
    assert!(printed(below).contains("+09:00"));
}

#[test]
fn a_display_zone_does_not_change_a_schedule() {
    let repository = shop("zone-when").file("almanac.toml", SETTINGS);
    let typed =
        printed(repository.command(&["when", "0 8 * * *", "--from", PRESENT, "--count", "1"]));
    assert!(typed.starts_with("Fires at 08:00 every day (UTC)\n"), "{typed}");
    assert!(typed.contains("Sat 2026-11-21 08:00 UTC  Sat 2026-11-21 17:00 +09:00"), "{typed}");
    let objects = printed(repository.command(&["when", "shop.yaml", "--from", PRESENT]));
    assert!(objects.contains("08:00 +01:00  Sat 2026-11-21 16:00 +09:00"), "{objects}");
    let from = |command: &[&str]| repository.run(command).json()["items"][0]["at"].clone();
    let usual = ["when", "0 * * * *", "--from", "2026-11-20", "-o", "json"];
    assert_eq!(from(&usual), "2026-11-20T00:00:00Z", "midnight is that of the schedule");
}

#[test]
fn local_is_the_zone_of_the_machine() {
    let repository = shop("zone-local");
    for (setting, offset) in [("Asia/Kathmandu", "+05:45"), (":America/Bogota", "-05:00")] {
        for command in COMMANDS {
            let mut command = repository.command(&[command, &["--zone", "local"]].concat());
            let ran = Ran::from_output(&command.env("TZ", setting).output().unwrap());
            assert!(ran.stdout.contains(offset), "{}{}", ran.stdout, ran.stderr);
        }
    }
    let mut command = repository.command(&["when", "@daily", "--zone", "local"]);
    let ran = Ran::from_output(&command.env("TZ", "CET-1CEST").output().unwrap());
    ran.assert_output(2, &["--zone: the time zone of this machine is unknown: TZ is `CET-1CEST`"]);
}

#[test]
fn utc_is_shown_once_under_each_of_its_names() {
    let repository = Repository::new("zone-utc").file("shop.yaml", policy("shop", "shop", 3));
    let next = ["next", "shop.yaml", "--from", PRESENT, "--count", "1"];
    let usual = printed(repository.command(&next));
    assert!(usual.starts_with("Fri 2026-11-20 20:00 UTC\n"), "{usual}");
    let by_flag = |zone| repository.command(&[&next[..], &["--zone", zone]].concat());
    assert_eq!(printed(by_flag("Etc/UTC")), usual);
    let mut local = by_flag("local");
    let local = Ran::from_output(&local.env("TZ", "Etc/UTC").output().unwrap());
    assert_eq!(local.stdout, usual, "{}", local.stderr);
}

#[test]
fn a_mistyped_display_zone_never_gets_the_hint_about_utc() {
    let repository = shop("zone-mistyped");
    let local = "for the zone of this machine, write local";
    for (zone, advice) in
        [("LOCAL", local), ("Local", local), ("", "or local for that of this machine")]
    {
        for command in [&["next", "shop.yaml"][..], &["explain", "shop.yaml"], &["when", "@daily"]]
        {
            let ran = repository.run(&[command, &["--zone", zone]].concat());
            ran.assert_output(2, &["--zone: ", advice]);
            assert!(!ran.stderr.contains("for UTC"), "{}", ran.stderr);
        }
    }
    let mut command = repository.command(&["next", "shop.yaml"]);
    let variable = Ran::from_output(&command.env("ALMANAC_ZONE", "Local").output().unwrap());
    variable.assert_output(2, &["ALMANAC_ZONE: ", local]);
    // This argument defaults to UTC.
    let jobs = repository.run(&["when", "-f", "shop.yaml", "--cron-job-zone", "Local"]);
    jobs.assert_output(2, &["leave it out for UTC"]);
    let repository = repository.file("almanac.toml", "[display]\nzone = \"LOCAL\"\n");
    repository.run(&["next", "shop.yaml"]).assert_output(2, &["almanac.toml", local]);
}

#[test]
fn an_error_about_an_unknown_zone_names_its_source() {
    let repository = shop("zone-unknown");
    let nearest = "is not an IANA time zone; the nearest name is Europe/Berlin";
    let flag = repository.run(&["next", "shop.yaml", "--zone", "Europe/Berlim"]);
    flag.assert_output(2, &["--zone: ", nearest]);
    let mut command = repository.command(&["next", "shop.yaml"]);
    let variable =
        Ran::from_output(&command.env("ALMANAC_ZONE", "Europe/Berlim").output().unwrap());
    variable.assert_output(2, &["ALMANAC_ZONE: ", nearest]);
    let settings = "\n[display]\nzone = \"Europe/Berlim\"\n";
    let repository = repository.file("almanac.toml", settings);
    repository.run(&["next", "shop.yaml"]).assert_output(2, &["almanac.toml", "line 3", nearest]);
}
