//! Where a value comes from: who set it, and why.

use std::sync::Arc;

use almanac_engine::turn::Reasons;
use almanac_engine::{Identity, Reason, World, cron_scaling, scheduled_capacity};

/// Who set a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Writer {
    /// The policy.
    pub policy: Identity,
    /// Its rule by name, or its behaviour as `behaviors[1]`; `None` when the policy as a whole
    /// decides.
    pub rule: Option<Arc<str>>,
}

/// Who set a value, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// `None` when no policy has set it.
    pub writer: Option<Writer>,
    /// As a line for a person.
    pub reason: Box<str>,
}

impl Origin {
    /// The value is what was there before any policy acted.
    pub(crate) fn given() -> Arc<Origin> {
        Arc::new(Origin { writer: None, reason: "as given; no rule has set it yet".into() })
    }

    /// Nobody knows the value.
    pub(crate) fn unknown() -> Arc<Origin> {
        Arc::new(Origin { writer: None, reason: "unknown; no rule has set it yet".into() })
    }

    /// The value is what whoever asked says.
    pub(crate) fn assumed() -> Arc<Origin> {
        Arc::new(Origin { writer: None, reason: "assumed, as you say".into() })
    }
}

/// What won, in the terms of either family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Won {
    Scheduled(Reason<scheduled_capacity::Because>),
    Cron(Reason<cron_scaling::Because>),
}

/// The origins met so far. There are few, and each is met very often: one is rendered once.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    known: Vec<(Identity, Won, Arc<Origin>)>,
}

impl Origins {
    /// The origin of what a rule of a policy set in a turn.
    pub(crate) fn of_rule(
        &mut self,
        world: &World,
        policy: &Identity,
        rule: Option<u32>,
        reasons: &Reasons,
    ) -> Option<Arc<Origin>> {
        let won = match reasons {
            Reasons::ScheduledCapacity(reasons) => reasons
                .iter()
                .rev()
                .find(|it| it.rule == rule)
                .map(|it| Won::Scheduled(Reason { since: None, until: None, ..*it })),
            Reasons::CronScaling(reasons) => reasons
                .iter()
                .rev()
                .find(|it| it.rule == rule)
                .map(|it| Won::Cron(Reason { since: None, until: None, ..*it })),
        }?;
        if let Some((_, _, origin)) =
            self.known.iter().find(|(known, because, _)| *because == won && known == policy)
        {
            return Some(Arc::clone(origin));
        }
        let origin = Arc::new(render(world, policy, &won)?);
        self.known.push((policy.clone(), won, Arc::clone(&origin)));
        Some(origin)
    }
}

fn render(world: &World, policy: &Identity, won: &Won) -> Option<Origin> {
    let (rule, reason) = match won {
        Won::Scheduled(reason) => {
            let object = world.scheduled_capacities.get(policy)?;
            let rule = reason.rule.map(behaviour_name);
            (rule, scheduled_capacity::render(&object.policy, reason))
        }
        Won::Cron(reason) => {
            let object = world.cron_scalings.get(policy)?;
            let rule = reason.rule.and_then(|rule| object.policy.rules.get(rule as usize));
            let name = rule.map(|rule| Arc::clone(&rule.name));
            (name, cron_scaling::render(&object.policy, reason))
        }
    };
    let writer = Some(Writer { policy: policy.clone(), rule });
    Some(Origin { writer, reason: reason.into() })
}

/// Behaviours have no names; they are called by their place in the spec.
pub(crate) fn behaviour_name(position: u32) -> Arc<str> {
    Arc::from(format!("behaviors[{position}]"))
}
