//! `almanac webhook` as in its manifest, called by a real API server: its rejections and warnings with their messages,
//! and requests without the webhook. Also its additions to a hub, and its certificate over several replacements.

mod away;
mod certificates;
mod desk;
mod hub;
mod size;
mod words;
