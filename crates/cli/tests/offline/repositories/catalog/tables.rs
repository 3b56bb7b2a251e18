//! Mistakes distinguished by their texts alone, each with its fix.

use almanac_api::finding::Code;

/// Mistakes of a policy for QoS levels, each with its fix.
pub(super) const LEVELS: &[(Code, &str, &str)] = &[
    (
        Code::TimeOfDay,
        "startTime: '8:00', endTime: '09:00', selector: {matchLabels: {a: b}}",
        "write 08:00",
    ),
    (
        Code::TimeOfDay,
        "startTime: '25:00', endTime: '09:00', selector: {matchLabels: {a: b}}",
        "write two digits each, as in 08:00",
    ),
    (
        Code::Duration,
        "startTime: '08:00', endTime: '09:00', selector: {matchLabels: {a: b}}, checkInterval: 1d",
        "write one such as 30s or 1m30s",
    ),
    (
        Code::Selector,
        "startTime: '08:00', endTime: '09:00', selector: {}",
        "name the labels of the pods, under matchLabels or matchExpressions",
    ),
    (
        Code::MistypedField,
        "starTime: '08:00', endTime: '09:00', selector: {matchLabels: {a: b}}",
        "write startTime",
    ),
    (
        Code::IgnoredField,
        "startTime: '08:00', endTime: '09:00', selector: {matchLabels: {a: b}}, enabled: false",
        "write enable",
    ),
    (
        Code::MissingField,
        "startTime: '08:00', endTime: '09:00'",
        "add selector: the labels of the pods",
    ),
];

/// Mistakes of a cron expression, each with its fix.
pub(super) const SCHEDULES: &[(&str, &str)] = &[
    ("0 25 * * *", "write an hour from 0 to 23"),
    ("60 * * * *", "write a minute from 0 to 59"),
    ("0 0 32 * *", "write a day of the month from 1 to 31"),
    ("0 0 * 13 *", "write a month from 1 to 12"),
    ("0 0 * * 8", "write a weekday from 0 to 7"),
    ("0 9 * * Sunn", "write \"0 9 * * sun\""),
    ("3x 9 * * *", "write 0 to 59"),
    ("H 8 * * *", "write a minute of your choice"),
    ("H/15 8 * * *", "write \"*/15 8 * * *\""),
    ("0 8 * * 1-5 UTC", "write \"0 8 * * 1-5\", and timeZone: UTC"),
    ("*/0 * * * *", "write a step of at least 1"),
    ("*/x * * * *", "write a number, such as */5"),
    ("0 8 * *", "write five fields: minute, hour, day of month, month and weekday"),
    ("1-2-3 * * * *", "write both ends of the range, such as 1-5"),
    ("0 9 *5 * *", "use the star alone or with a step, such as */5"),
    ("0 9,, * * *", "remove the extra comma"),
    ("0 22-2 * * *", "write \"0 22-23,0-2 * * *\""),
    ("0 0 31 2 *", "write a date that exists"),
    ("@Daily", "write \"@daily\""),
    ("@fortnightly", "write one of the macros, or five fields"),
    (
        "0 0 9 ? * 2-6",
        "write \"0 9 * * mon-fri\" if it comes from Quartz, or \"0 9 * * 2-6\" if it comes from Spring",
    ),
    (
        "0 10 * * * *",
        "write \"10 * * * *\" if it comes from Spring, or \"0 10 * * *\" if it comes from EventBridge",
    ),
    ("rate(1 week)", "write five fields: minute, hour, day of month, month and weekday"),
    ("rate(0 minutes)", "write five fields: minute, hour, day of month, month and weekday"),
    ("\"0 8 * * *\"", "write \"0 8 * * *\""),
    ("0 8 * * * ; in the morning", "write \"0 8 * * *\""),
    ("0 8 * * *; 0 20 * * *", "write each expression in a rule of its own"),
    ("0 0 12 31 2 ?", "write a date that exists"),
    (
        "at(2026-11-20T13:00:00)",
        "write its minute, hour, day and month, and delete the rule afterwards",
    ),
    (
        "rate(7 minutes)",
        "it can't be kept in one rule; write its times of day in rules of their own, or choose an \
         interval that divides a day",
    ),
    ("*/10 * * * * *", "it can't be kept; the most often a rule can fire is every minute"),
    ("0 0 0 15W * ?", "it can't be kept; a day of the month fires on any weekday"),
    (
        "0 0 * * 5#2",
        "it can't be kept; a weekday fires every week, and a day of the month on any weekday",
    ),
    (
        "0 0 L * *",
        "it can't be kept in one rule; if the last day itself is meant, write a rule for each length of \
         its months: day 31 in 1,3,5,7,8,10,12, day 30 in 4,6,9,11, and day 28 in 2, which leaves out \
         29 February",
    ),
];

/// Mistakes of the hours, the weekdays or the years of a pattern, each with its fix.
pub(super) const PATTERNS: &[(&str, &str)] = &[
    ("{hours: 3x}", "write 0 to 23"),
    ("{hours: 25}", "write hours from 0 to 23"),
    ("{weekdays: Sunn}", "write Sun"),
    ("{weekdays: Mon-Fri}", "write Mon,Tue,Wed,Thu,Fri"),
    ("{years: 25}", "write years from 1970 to 2999"),
    ("{minutes: '*/5'}", "write the minutes with commas between them (left out they are 0)"),
    ("{days: '*'}", "leave days out for any"),
    ("{days: 31, months: Feb}", "write a date that exists"),
];
