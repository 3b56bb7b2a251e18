//! The controllers, by the names that `--controllers` accepts. `almanac controller` decides which kinds each controller
//! reconciles.

use std::sync::LazyLock;

use almanac_api::families::{Controlled, Process};
use clap::ValueEnum;
use clap::builder::PossibleValue;

/// A controller, by the kind that it reconciles.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Controller(pub(super) Controlled);

impl Controller {
    /// The names of the controllers that run by default.
    pub(super) fn by_default() -> impl Iterator<Item = &'static str> {
        Controlled::all().filter(|it| it.is_by_default()).map(Controlled::flag)
    }
}

impl ValueEnum for Controller {
    fn value_variants<'a>() -> &'a [Controller] {
        static ALL: LazyLock<Vec<Controller>> = LazyLock::new(|| {
            let is_one = |it: &Controlled| matches!(it.process(), Process::Controller { .. });
            Controlled::all().filter(is_one).map(Controller).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.flag()))
    }
}
