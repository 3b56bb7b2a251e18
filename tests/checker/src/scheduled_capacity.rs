//! Requirements on any decision about scheduled capacity.

use almanac_engine::scheduled_capacity::{Decision, Input, PublishedNumber, ScheduledCapacity};
use almanac_engine::{Action, Verdict};
use jiff::{SignedDuration, Timestamp};

use crate::Violations;

/// A year, possibly with a leap day.
const YEAR: SignedDuration = SignedDuration::from_hours(366 * 24);

/// Checks the decision for a schedule at `now`.
#[must_use]
pub fn check_scheduled_capacity(
    input: &Input<'_>,
    now: Timestamp,
    decision: &Decision,
) -> Violations {
    let mut violations = Violations::default();
    let published = decision.memory;
    check_winner(&mut violations, input.policy, now, published);
    check_next(&mut violations, input.policy, now, published);
    check_action(&mut violations, input, decision);

    let winners: Vec<_> = decision.reasons.iter().filter(|it| it.verdict == Verdict::Won).collect();
    violations
        .unless(winners.len() == 1 && winners.iter().all(|it| it.rule == published.winner), || {
            format!("the reasons {winners:?} do not name the winner {:?}", published.winner)
        });
    // Only the outcome shows whether the number was published.
    violations.unless(decision.recorded.is_empty(), || {
        format!("records {:?} before it has happened", decision.recorded)
    });
    if let Some(wake_at) = decision.wake_at {
        violations.unless(wake_at > now, || format!("wakes at {wake_at}, which is over at {now}"));
    }
    if let Some(next) = published.next {
        violations.unless(decision.wake_at.is_some_and(|wake_at| wake_at <= next.at), || {
            format!("would sleep past {}, when the number changes", next.at)
        });
    }
    violations
}

fn check_winner(
    violations: &mut Violations,
    policy: &ScheduledCapacity,
    now: Timestamp,
    published: PublishedNumber,
) {
    let open = |index: usize| policy.behaviors[index].windows.is_open(now);
    let Some(winner) = published.winner.map(|winner| winner as usize) else {
        violations.unless(published.value == policy.default_value, || {
            format!("nothing wins, but {} is not the default", published.value)
        });
        for index in (0..policy.behaviors.len()).filter(|index| open(*index)) {
            violations.unless(false, || format!("behavior {index} is open, but does not win"));
        }
        return;
    };
    let Some(behavior) = policy.behaviors.get(winner) else {
        violations.unless(false, || format!("there is no behavior {winner}"));
        return;
    };
    violations.unless(open(winner), || format!("behavior {winner} wins, but is closed"));
    violations.unless(published.value == behavior.value, || {
        format!("{} is not what behavior {winner} says", published.value)
    });
    for (index, other) in policy.behaviors.iter().enumerate().filter(|(index, _)| open(*index)) {
        let is_above = other.priority > behavior.priority
            || (other.priority == behavior.priority && index < winner);
        violations.unless(!is_above, || format!("{winner} wins over {index}, which is above it"));
    }
}

fn check_next(
    violations: &mut Violations,
    policy: &ScheduledCapacity,
    now: Timestamp,
    published: PublishedNumber,
) {
    let Some(next) = published.next else { return };
    violations.unless(next.at > now && next.at.duration_since(now) <= YEAR, || {
        format!("the next number comes at {}, not within a year of {now}", next.at)
    });
    violations.unless(next.value != published.value, || {
        format!("the next number is {} again", next.value)
    });
    let mut open = policy.behaviors.iter().filter(|it| it.windows.is_open(next.at)).peekable();
    let is_justified = match open.peek() {
        None => next.value == policy.default_value,
        Some(_) => open.any(|behavior| behavior.value == next.value),
    };
    violations.unless(is_justified, || {
        format!("nothing that is open at {} has the value {}", next.at, next.value)
    });
    let changes = |it: &almanac_engine::scheduled_capacity::Behavior| {
        it.windows.previous_transition(next.at).is_some_and(|change| change.at == next.at)
    };
    violations.unless(policy.behaviors.iter().any(changes), || {
        format!("nothing opens or closes at {}", next.at)
    });
}

fn check_action(violations: &mut Violations, input: &Input<'_>, decision: &Decision) {
    let value = decision.memory.value;
    let publish = Action::Publish { schedule: input.identity.clone(), value };
    let is_so = input.published.is_some_and(|before| before.value == value);
    let expected = if is_so { vec![] } else { vec![publish] };
    violations.unless(decision.actions == expected, || {
        format!("does {:?} instead of {expected:?}", decision.actions)
    });
}
