//! The tests of the command line without a cluster. They are one program, so that it is linked once. Each module
//! tests one command or one contract.

#[path = "../support/dashboard/mod.rs"]
mod dashboard;
#[path = "../support/installing/mod.rs"]
mod installing;
#[path = "../support/terminal/mod.rs"]
mod real_terminal;

mod command_line;
mod compatibility;
mod completion;
mod diff;
mod documents;
mod finding_formats;
mod forecast;
mod help;
mod kubeconfig;
mod lint;
mod readme;
mod repositories;
mod rotation;
mod running;
mod terminal;
mod validate;
mod width;
