//! Realistic repositories: several clusters, charts, kustomizations, and ten thousand irrelevant files. Each test
//! creates its own repository.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod action;
mod action_comment;
mod arguments;
mod catalog;
mod cron_jobs;
mod display_zones;
mod excluding;
mod exit_codes;
mod fixing;
mod folders;
mod foreign;
mod ignoring;
mod lint;
mod noise;
mod outputs;
mod places;
mod pre_commit;
mod repository;
mod templates;
mod texts;
mod units;
mod whole;
mod words;
