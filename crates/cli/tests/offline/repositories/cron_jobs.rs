//! `CronJobs` of Kubernetes: read and displayed next to policies, but not reconciled.

use serde_json::{Value, json};

use crate::repositories::repository::{Repository, findings, policy};

fn cron_job(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\nspec:\n  {spec}\n  \
         jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}}}\n"
    )
}

fn repository(name: &str) -> Repository {
    Repository::new(name)
        .file("shop.yaml", policy("shop-hours", "shop", 3))
        .file(
            "backup.yaml",
            cron_job("backup", "schedule: '30 2 * * *'\n  timeZone: Europe/Berlin"),
        )
        .file("report.yaml", cron_job("report", "schedule: '0 6 * * 1'"))
        .file("paused.yaml", cron_job("paused", "schedule: '0 * * * *'\n  suspend: true"))
        .file("often.yaml", cron_job("often", "schedule: '@every 90m'"))
}

/// The Job starts of a `CronJob`.
fn starts(items: &Value, of: &str) -> Vec<String> {
    let items = items.as_array().unwrap().iter().filter(|it| it["what"] == "starts");
    let report =
        |it: &Value| format!("{} {}", it["at"].as_str().unwrap(), it[of]["name"].as_str().unwrap());
    items.map(report).collect()
}

const EXPECTED: [&str; 4] = [
    "2026-11-21T01:30:00Z backup",
    "2026-11-22T01:30:00Z backup",
    "2026-11-23T01:30:00Z backup",
    "2026-11-23T06:00:00Z report",
];

#[test]
fn a_cron_job_is_shown_by_next_and_forecast_in_its_zone_or_in_utc() {
    let repository = repository("cron-jobs");
    let next = repository.run_json("next", &["-f", ".", "--for", "3d"]);
    assert_eq!(starts(&next["items"], "target"), EXPECTED);
    let forecast = repository.run_json("forecast", &["-f", ".", "--for", "3d"]);
    assert_eq!(starts(&forecast["occurrences"], "object"), EXPECTED);
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "namespace": "default", "name": "backup"});
    assert_eq!(forecast["occurrences"][0]["object"], object);
    assert_eq!(
        forecast["series"].as_array().unwrap().len(),
        1,
        "the effects of its Jobs are unknown"
    );
    let expected = [
        "CronJob.batch default/often starts \"@every 90m\", in intervals since its last start, which is unknown; it is left out",
        "CronJob.batch default/paused is suspended, so it starts nothing",
        "CronJob.batch default/report names no timeZone, so it follows that of the kube-controller-manager, taken as UTC",
    ];
    assert_eq!(next["assumptions"], json!(expected));
    for note in expected {
        assert!(forecast["assumptions"].as_array().unwrap().contains(&json!(note)), "{forecast}");
    }
    repository.run(&["next", "-f", ".", "--from", "2026-11-20"]).assert_output(
        0,
        &["CronJob.batch default/backup starts a Job", "taken as UTC", "is suspended"],
    );
    repository.run(&["forecast", "-f", ".", "--from", "2026-11-20"]).assert_output(
        0,
        &["CronJobs\n  CronJob.batch default/backup at 02:30 every day (Europe/Berlin): Fri 2026-11-20"],
    );
}

#[test]
fn cron_jobs_are_selected_by_name_and_need_no_policy() {
    let repository = Repository::new("cron-jobs-alone")
        .file("a.yaml", cron_job("a", "schedule: '0 5 * * *'"))
        .file("b.yaml", cron_job("b", "schedule: '0 6 * * *'"));
    let of = |arguments: &[&str]| {
        let all = [&["-f", ".", "--for", "1d"], arguments].concat();
        starts(&repository.run_json("forecast", &all)["occurrences"], "object")
    };
    assert_eq!(of(&[]), ["2026-11-21T05:00:00Z a", "2026-11-21T06:00:00Z b"]);
    assert_eq!(of(&["cronjob/b"]), ["2026-11-21T06:00:00Z b"]);
    repository
        .run(&["forecast", "-f", ".", "cronjob/c"])
        .assert_output(2, &["no policy or target matches"]);
    repository
        .run(&["validate"])
        .assert_output(0, &["checked 2 objects in 2 files: no problems found"]);
}

#[test]
fn a_mistake_in_a_cron_job_has_its_location() {
    let repository = Repository::new("cron-jobs-wrong")
        .file("fields.yaml", cron_job("a", "schedule: '0 5 * *'"))
        .file("zone.yaml", cron_job("b", "schedule: '0 5 * * *'\n  timeZone: Europe/berlin"))
        .file("inside.yaml", cron_job("c", "schedule: 'TZ=UTC 0 5 * * *'"))
        .file("number.yaml", cron_job("d", "schedule: 5"))
        .file("none.yaml", cron_job("e", "suspend: false"))
        .file("every.yaml", cron_job("f", "schedule: '@every soon'"))
        .file("seven.yaml", cron_job("h", "schedule: '0 5 * * 1-5/2,7'"))
        .file("suspend.yaml", cron_job("j", "schedule: '0 5 * * *'\n  suspend: 'true'"))
        .file("unfilled.yaml", cron_job("g", "schedule: '${SCHEDULE}'"));
    let expected = [
        "schedule every.yaml:5:13",
        "schedule fields.yaml:5:13",
        "schedule inside.yaml:5:13",
        "missing-field none.yaml:4:1",
        "wrong-type number.yaml:5:13",
        "schedule seven.yaml:5:13",
        "wrong-type suspend.yaml:6:12",
        "time-zone zone.yaml:6:13",
    ];
    assert_eq!(findings(&repository.run_json("validate", &[])), expected);
    assert_eq!(findings(&repository.run_json("lint", &[])), expected);
    let report = repository.run_json("forecast", &["-f", ".", "--for", "1d"]);
    assert_eq!((starts(&report["occurrences"], "object").len(), findings(&report).len()), (0, 8));
}

#[test]
fn a_cron_job_belongs_to_the_place_of_its_directory() {
    let repository = Repository::new("cron-jobs-places")
        .file("prod/hours.yaml", policy("hours", "shop", 3))
        .file("prod/backup.yaml", cron_job("backup", "schedule: '0 5 * * *'"))
        .file("test/hours.yaml", policy("hours", "shop", 2));
    let report = repository.run_json("forecast", &["-f", ".", "--for", "1d"]);
    assert_eq!(report["occurrences"].as_array().unwrap().len(), 1);
    assert_eq!(report["occurrences"][0]["place"], "prod");
}

#[test]
fn lint_reports_findings_of_cron_jobs_over_time() {
    let repository = Repository::new("cron-jobs-over-time")
        .file("night.yaml", cron_job("night", "schedule: '30 2 * * *'\n  timeZone: Europe/Berlin"))
        .file("leap.yaml", cron_job("leap", "schedule: '0 6 29 2 *'\n  timeZone: Etc/UTC"))
        .file("paused.yaml", cron_job("paused", "schedule: '30 2 * * *'\n  suspend: true"))
        .file("nowhere.yaml", cron_job("nowhere", "schedule: '30 2 * * *'"))
        .file("hourly.yaml", cron_job("hourly", "schedule: '7 * * * *'"));
    let lint = |zone: &str| {
        let words = ["lint", "--from", "2024-03-01", "-o", "json", "--cron-job-zone", zone];
        let mut found = findings(&repository.run(&words).json());
        found.sort();
        found
    };
    let expected = [
        "assumed-zone nowhere.yaml:5:13",
        "clock-change night.yaml:5:13",
        "never-fires leap.yaml:5:13",
        "suspended paused.yaml:6:12",
    ];
    assert_eq!(lint("UTC"), expected);
    assert_eq!(
        lint("Europe/Berlin"),
        [
            &expected[..1],
            &["clock-change night.yaml:5:13", "clock-change nowhere.yaml:5:13"],
            &expected[2..]
        ]
        .concat()
    );
    assert_eq!(findings(&repository.run_json("validate", &[])), ["clock-change night.yaml:5:13"]);
}

#[test]
fn the_zone_of_the_controller_manager_can_be_set() {
    let repository = repository("cron-jobs-zone");
    let zone = ["-f", ".", "--for", "3d", "--cron-job-zone", "Asia/Tokyo"];
    let note = "CronJob.batch default/report names no timeZone, so it follows that of the \
                kube-controller-manager, taken as Asia/Tokyo";
    for (command, items, object) in
        [("next", "items", "target"), ("forecast", "occurrences", "object")]
    {
        let report = repository.run_json(command, &zone);
        let expected = [EXPECTED[0], EXPECTED[1], "2026-11-22T21:00:00Z report", EXPECTED[2]];
        assert_eq!(starts(&report[items], object), expected, "{command}");
        assert!(report["assumptions"].as_array().unwrap().contains(&json!(note)), "{report}");
    }
    repository
        .run(&["next", "-f", ".", "--cron-job-zone", "Tokyo"])
        .assert_output(2, &["--cron-job-zone", "Tokyo"]);
}

#[test]
fn a_zone_that_a_cron_job_cannot_have_is_not_replaced_by_utc() {
    let repository = Repository::new("cron-jobs-no-zone")
        .file("empty.yaml", cron_job("empty", "schedule: '0 5 * * *'\n  timeZone: ''"))
        .file("local.yaml", cron_job("local", "schedule: '0 5 * * *'\n  timeZone: Local"));
    let report = repository.run(&["validate"]);
    report.assert_output(
        1,
        &[
            "empty.yaml:6:13",
            "local.yaml:6:13",
            "leave it out for that of the kube-controller-manager",
        ],
    );
    assert!(!report.stdout.contains("for UTC"), "{}", report.stdout);
}

#[test]
fn every_output_of_a_forecast_shows_when_jobs_start() {
    let repository = repository("cron-jobs-outputs");
    let output = |format: &str| {
        let period = ["--from", "2026-11-20", "--for", "3d"];
        let ran = repository.run(&[&["forecast", "-f", ".", "-o", format], &period[..]].concat());
        ran.assert_output(0, &[]);
        ran.stdout
    };
    let table = output("csv");
    let rows: Vec<&str> = table.lines().filter(|it| it.contains(",starts,")).collect();
    assert_eq!(rows.len(), 3, "{table}");
    let row = ",batch/v1,CronJob,default,backup,starts,2026-11-20T01:30:00Z,2026-11-20T01:30:00Z,,\
               CronJob,default,backup,,at 02:30 every day (Europe/Berlin),";
    assert_eq!(rows[0], row);
    let picture = output("svg");
    assert_eq!(picture.matches("<title>starts a Job").count(), 3, "{picture}");
    for report in [
        "CronJob.batch default/report at 06:00 every Monday (UTC, assumed)",
        ">starts nothing in this period<",
        ">is suspended<",
        ">starts &quot;@every 90m&quot;, at unknown instants<",
    ] {
        assert!(picture.contains(report), "{report}: {picture}");
    }
    assert!(output("html").contains("\"occurrences\":[{"));
}

#[test]
fn starts_that_are_too_close_to_be_drawn_are_one_mark() {
    let repository = Repository::new("cron-jobs-close")
        .file("often.yaml", cron_job("often", "schedule: '*/5 8-9 * * *'"));
    let period = ["--from", "2026-11-20", "--for", "30d"];
    let ran = repository.run(&[&["forecast", "-f", ".", "-o", "svg"], &period[..]].concat());
    assert_eq!(ran.stdout.matches("<title>starts 24 Jobs").count(), 30, "{}", ran.stdout);
}

#[test]
fn when_explains_the_schedules_of_files_as_typed_ones() {
    let repository = repository("cron-jobs-when");
    let period = ["--from", "2026-03-26", "--for", "2d"];
    let when = |arguments: &[&str]| repository.run(&[&["when"], arguments, &period[..]].concat());
    let typed = when(&["--cron", "30 2 * * *", "--zone", "Europe/Berlin"]).stdout;
    assert!(typed.contains("2026-03-27 02:30 +01:00"), "{typed}");
    let of_file = when(&["cronjob/backup", "-f", "."]).stdout;
    // The effects of clock changes differ: rules fire after a gap for the skipped times.
    let until_clock_changes =
        |output_text: &str| output_text.split("\n! ").next().unwrap().to_owned();
    let expected = until_clock_changes(&typed).replace("Fires at", "Starts a Job at");
    let expected = format!("CronJob.batch default/backup\n{expected}");
    assert_eq!(until_clock_changes(&of_file), expected);
    assert!(of_file.contains("from 02:00 to 03:00: 1 firing is skipped"), "{of_file}");
    when(&["-f", "."]).assert_output(
        0,
        &[
            "CronFederatedHPA.autoscaling.karmada.io default/shop-hours open\nFires at 08:00 every day (UTC)",
            "default/paused\nStarts a Job every hour, on the hour (UTC)\n! is suspended",
            "default/often\n! starts \"@every 90m\"",
            "! names no timeZone, so it follows that of the kube-controller-manager, taken as UTC",
        ],
    );
    when(&["cj/report", "-f", ".", "--cron-job-zone", "Asia/Tokyo"])
        .assert_output(0, &["Starts a Job at 06:00 every Monday (Asia/Tokyo)"]);
    when(&["cj/none", "-f", "."]).assert_output(2, &["no policy or target matches"]);
    when(&[]).assert_output(2, &["nothing to explain: type a schedule"]);
    when(&["--cron", "@daily", "-f", "."]).assert_output(2, &["cannot be used with"]);
    let report = repository.run_json("when", &["-f", ".", "--count", "1"]);
    assert_eq!(report["schema"], "almanac/schedules/v1");
    let schedules = report["schedules"].as_array().unwrap();
    let zones: Vec<&Value> = schedules.iter().map(|it| &it["zone"]).collect();
    assert_eq!(
        zones,
        ["UTC", "UTC", "Europe/Berlin", "", "UTC", "UTC"]
            .map(|zone| match zone {
                "" => Value::Null,
                zone => json!(zone),
            })
            .iter()
            .collect::<Vec<_>>()
    );
    let backup = &schedules[2];
    assert_eq!(backup["items"], json!([{"at": "2026-11-21T01:30:00Z", "what": "fires"}]));
    assert_eq!(schedules[0]["rule"], "open");
}

/// Kubernetes compares with the current wall clock, and makes up for no missed start.
#[test]
fn a_start_in_a_gap_is_skipped_and_a_start_in_a_fold_repeats() {
    let repository = Repository::new("cron-jobs-clock-changes")
        .file("night.yaml", cron_job("night", "schedule: '30 2 * * *'\n  timeZone: Europe/Berlin"))
        .file(
            "hourly.yaml",
            cron_job("hourly", "schedule: '7 * * * *'\n  timeZone: Europe/Berlin"),
        );
    let ask = |arguments: &[&str], from: &str| {
        let period = ["-f", ".", "--from", from, "--for", "1d"];
        repository.run(&[arguments, &period[..]].concat())
    };
    let (gap, fold) = ("2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z");
    let skipped = "on 2026-03-29 the clock jumps from 02:00 to 03:00: 1 firing is skipped";
    let note = format!("! CronJob.batch default/night: in Europe/Berlin, {skipped}");
    ask(&["next", "cj/night"], gap).assert_output(0, &[&note]);
    ask(&["forecast", "--zone", "Europe/Berlin"], gap)
        .assert_output(0, &["Clock changes\n  CronJob.batch default/night"]);
    let report = ask(&["next", "cj/night", "-o", "json"], gap).json();
    assert_eq!(report["items"], json!([]));
    assert_eq!(report["clockChanges"][0]["note"], skipped);
    let report = ask(&["forecast", "-o", "json"], gap).json();
    assert_eq!(report["clockChanges"].as_array().unwrap().len(), 1, "the hourly one has none");
    let report = ask(&["next", "cj/night", "-o", "json"], fold).json();
    let starts: Vec<&Value> =
        report["items"].as_array().unwrap().iter().map(|it| &it["at"]).collect();
    assert_eq!(starts, ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]);
}

#[test]
fn every_output_distinguishes_cron_jobs_of_one_name_by_their_files() {
    let both = format!(
        "{}---\n{}",
        cron_job("backup", "schedule: '0 3 * * *'"),
        cron_job("backup", "schedule: '0 4 * * *'")
    );
    let repository = Repository::new("cron-jobs-alike")
        .file("east/backup.yaml", cron_job("backup", "schedule: '0 3 * * *'"))
        .file("west/both.yaml", both)
        .file("west/report.yaml", cron_job("report", "schedule: '0 3 * * *'"));
    let names = [
        "default/backup (east/backup.yaml)",
        "default/backup (west/both.yaml:5)",
        "default/backup (west/both.yaml:12)",
        "default/report",
    ];
    let period = ["-f", ".", "--from", "2026-11-20", "--for", "1d"];
    let output = |command: &[&str]| {
        let ran = repository.run(&[command, &period[..]].concat());
        ran.assert_output(0, &[]);
        ran.stdout.replace("\r\n ", "")
    };
    for command in [
        &["forecast"][..],
        &["forecast", "-o", "svg"],
        &["forecast", "-o", "ics"],
        &["next"],
        &["next", "-o", "ics"],
        &["when"],
    ] {
        let output_text = output(command);
        for name in names {
            assert!(output_text.contains(name), "{command:?}: {name}: {output_text}");
        }
        assert!(!output_text.contains("report ("), "{command:?}: {output_text}");
    }
    let places = [
        (json!("east/backup.yaml"), Value::Null),
        (Value::Null, Value::Null),
        (json!("west/both.yaml"), json!(5)),
        (json!("west/both.yaml"), json!(12)),
    ];
    for (command, items, object) in [
        ("forecast", "occurrences", "object"),
        ("next", "items", "target"),
        ("when", "schedules", "object"),
    ] {
        let report: Value = serde_json::from_str(&output(&[command, "-o", "json"])).unwrap();
        let all = report[items].as_array().unwrap().iter();
        let mut found: Vec<_> =
            all.map(|it| (it[object]["file"].clone(), it[object]["line"].clone())).collect();
        found.sort_by_key(|(file, line)| (file.to_string(), line.as_u64()));
        let mut expected = places.to_vec();
        expected.sort_by_key(|(file, line)| (file.to_string(), line.as_u64()));
        assert_eq!(found, expected, "{command}");
    }
    for command in ["forecast", "next"] {
        let table = output(&[command, "-o", "csv"]);
        let mut rows = csv::Reader::from_reader(table.as_bytes());
        let column = rows.headers().unwrap().iter().position(|it| it == "writtenAt").unwrap();
        let written_at = rows.records().map(|row| row.unwrap()[column].to_owned());
        let mut written_at: Vec<String> = written_at.collect();
        written_at.sort();
        let expected = ["", "east/backup.yaml", "west/both.yaml:12", "west/both.yaml:5"];
        assert_eq!(written_at, expected, "{table}");
        let calendar = output(&[command, "-o", "ics"]);
        let uids = calendar.lines().filter(|it| it.starts_with("UID:"));
        assert_eq!(uids.collect::<std::collections::BTreeSet<_>>().len(), 4, "{calendar}");
    }
    let page = output(&["forecast", "-o", "html"]);
    assert!(page.contains("\"location\":\"west/both.yaml:12\""));
}
