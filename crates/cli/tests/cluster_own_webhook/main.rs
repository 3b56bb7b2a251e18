//! `almanac webhook` as its manifest has it, asked by a real API server: what it refuses and warns of, with which words;
//! what happens without it; and its certificate over several lives.

#[path = "../documented/mod.rs"]
mod documented;
#[path = "../reading/mod.rs"]
mod reading;
#[path = "../rights/mod.rs"]
mod rights;

mod away;
mod certificates;
mod desk;
mod size;
mod words;
