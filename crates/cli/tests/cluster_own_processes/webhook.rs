//! `almanac webhook` as its manifest has it, asked by a real API server: what it refuses and warns of, with which words;
//! what happens without it; what it adds to a hub; and its certificate over several lives.

mod away;
mod certificates;
mod desk;
mod hub;
mod size;
mod words;
