//! Objects as users write them: reading, checking and the findings, without a cluster.

#[path = "../support/written/mod.rs"]
mod written;

mod advice;
mod definitions;
mod findings_page;
mod hostile_input;
mod hostile_levels;
mod kinds;
mod misnamed;
mod misplaced_levels;
mod optional_fields;
mod placements;
mod pod_demands;
mod published_examples;
mod qos_policies;
mod rejections_of_cron_rules;
mod rejections_of_schedules;
mod resource_policies;
mod rights;
mod rules_over_time;
mod slim_forms;
mod statuses;
mod units_of_nodes;
mod written_yaml;
