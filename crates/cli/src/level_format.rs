//! `--qos-level-format`, for a forecast and for the agent.

use almanac_engine::qos_levels;
use clap::ValueEnum;

/// How QoS levels are written.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LevelFormat {
    Number,
    Name,
}

impl From<LevelFormat> for qos_levels::LevelFormat {
    fn from(chosen: LevelFormat) -> Self {
        match chosen {
            LevelFormat::Number => qos_levels::LevelFormat::Number,
            LevelFormat::Name => qos_levels::LevelFormat::Name,
        }
    }
}
