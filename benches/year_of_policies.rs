//! Writes the files of the forecast's speed test to standard output.
//!
//! `cargo run -p almanac-benches --bin year_of_policies > policies.yaml`: ten thousand policies over
//! as many targets; half are cron rules with two firings a day, half are schedules with three
//! behaviors, each of which opens and closes once a day. A year of them is about fifteen million
//! segments:
//!
//! `almanac forecast -f policies.yaml --from 2026-01-01 --for 1y -o json --out year.json`

use std::io::{self, BufWriter, Write};

const EACH: u32 = 5_000;
const ZONES: [&str; 5] =
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney"];

fn main() -> io::Result<()> {
    let mut output = BufWriter::new(io::stdout().lock());
    for number in 0..EACH {
        write_cron_rules(number, &mut output)?;
        write_schedule(number, &mut output)?;
    }
    output.flush()
}

fn zone(number: u32) -> &'static str {
    ZONES[number as usize % ZONES.len()]
}

fn write_cron_rules(number: u32, output: &mut impl Write) -> io::Result<()> {
    let (zone, minute) = (zone(number), number % 60);
    let (morning, evening) = (6 + number % 4, 17 + number % 5);
    let replicas = 3 + number % 40;
    write!(
        output,
        "apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {{name: shop-{number:05}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: shop-{number:05}}}
  rules:
  - name: morning
    schedule: \"{minute} {morning} * * *\"
    timeZone: {zone}
    targetReplicas: {replicas}
  - name: evening
    schedule: \"{minute} {evening} * * *\"
    timeZone: {zone}
    targetReplicas: 2
---
"
    )
}

fn write_schedule(number: u32, output: &mut impl Write) -> io::Result<()> {
    let (zone, minute) = (zone(number), number % 60);
    let value = 5 + number % 20;
    write!(
        output,
        "apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {{name: nodes-{number:05}}}
spec:
  schedule:
    timezone: {zone}
    defaultReplicas: 1
    behaviors:
    - {{replicas: {value}, start: {{hours: 6, minutes: {minute}}}, end: {{hours: 8}}}}
    - {{replicas: {}, start: {{hours: 9, minutes: {minute}}}, end: {{hours: 13}}}}
    - {{replicas: {}, start: {{hours: 15, minutes: {minute}}}, end: {{hours: 21}}}}
---
",
        value * 2,
        value + 1
    )
}
