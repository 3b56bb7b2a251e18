//! `almanac webhook` as in its manifest, called by a real API server: its rejections and warnings, with their texts,
//! and requests without it. Then its additions to a hub, and its certificate over several lives.

mod away;
mod certificates;
mod desk;
mod hub;
mod size;
mod words;
