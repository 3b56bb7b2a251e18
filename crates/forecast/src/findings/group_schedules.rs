//! The actions of each group of rules if it were alone: the next write of a field, its value, and how long it usually
//! lasts. This module uses only the calendar; the run computes the interaction of groups.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::{Field, Identity, PolicyName, RuleSchedule, World};
use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use super::held::Write;
use super::watch::Rule;
use crate::Writer;

/// The rules of one policy that follow one clock, by the number of the clock. One rule of a group lowers again the
/// values that another rule of the group raises.
pub(super) type Group = (PolicyName, Option<usize>);

/// The number of firings that show how long a value usually lasts.
const FIRINGS: usize = 60;

/// The months over which the firings of a rule are counted.
const MONTHS: usize = 24;

/// An interruption of the usual value of a group is shorter than that value by this factor.
const SHORTER: i32 = 4;

const NANOSECOND: SignedDuration = SignedDuration::from_nanos(1);

/// The rules that set numbers, for fields that several groups may set.
#[derive(Debug)]
pub(super) struct GroupSchedules {
    rules: BTreeMap<Group, Vec<RuleSchedule>>,
    from: Timestamp,
    days: BTreeMap<Writer, u32>,
    lasting: BTreeMap<(Writer, Field, Side), Option<SignedDuration>>,
}

/// A value that a group sets, and the rule that sets it.
#[derive(Clone, Debug)]
pub(super) struct GroupValue {
    pub(super) at: Timestamp,
    pub(super) value: u32,
    pub(super) writer: Writer,
}

/// The next actions of a group after it has set a value.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// The instant of the next write of the same value by the same rule, if that is on the same day.
    pub(super) again: Option<Timestamp>,
    /// The next value on the other side of the current value.
    pub(super) other: Option<GroupValue>,
}

/// The fields that several groups of rules set.
pub(super) fn shared_fields(
    world: &World,
    rules: &BTreeMap<PolicyName, Vec<Rule>>,
) -> BTreeMap<(Identity, Field), Vec<Group>> {
    let mut shared: BTreeMap<(Identity, Field), Vec<Group>> = BTreeMap::new();
    for (policy, rules) in rules {
        let mut clocks: BTreeSet<Option<usize>> = rules.iter().map(|it| it.clock).collect();
        if rules.is_empty() {
            clocks.insert(None);
        }
        for place in world.footprint(policy).writes {
            let groups = clocks.iter().map(|clock| (policy.clone(), *clock));
            shared.entry(place).or_default().extend(groups);
        }
    }
    shared.retain(|_, groups| groups.len() > 1);
    shared
}

/// The direction of a change away from a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Side {
    Below,
    Above,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Below => Side::Above,
            Side::Above => Side::Below,
        }
    }

    pub(super) fn contains(self, number: u32, value: u32) -> bool {
        match self {
            Side::Below => number < value,
            Side::Above => number > value,
        }
    }
}

impl GroupSchedules {
    /// The rules in force of all groups that share a field.
    pub(super) fn new(
        rules: &BTreeMap<PolicyName, Vec<Rule>>,
        shared: &BTreeMap<(Identity, Field), Vec<Group>>,
        from: Timestamp,
    ) -> GroupSchedules {
        let rules_of = |(policy, clock): &Group| {
            let rules = rules.get(policy).into_iter().flatten();
            let of_group = rules.filter(|it| it.clock == *clock && !it.schedule.is_off);
            of_group.map(|it| it.schedule.clone()).collect()
        };
        let groups: BTreeSet<&Group> = shared.values().flatten().collect();
        let rules = groups.into_iter().map(|it| (it.clone(), rules_of(it))).collect();
        GroupSchedules { rules, from, days: BTreeMap::new(), lasting: BTreeMap::new() }
    }

    /// Whether a group sets a field to one value only, and so never ends it.
    pub(super) fn has_one_value(&self, group: &Group, field: Field) -> bool {
        let mut values = self.rules_setting(group, field).map(|(_, value)| value);
        let first = values.next();
        values.all(|it| Some(it) == first)
    }

    /// Whether a rule sets a field by itself.
    pub(super) fn sets(&self, group: &Group, writer: &Writer, field: Field) -> bool {
        self.rules_setting(group, field).any(|(rule, _)| Some(&rule.rule) == writer.rule.as_ref())
    }

    /// The last value that a group set before an instant.
    pub(super) fn last(
        &self,
        group: &Group,
        field: Field,
        before: Timestamp,
    ) -> Option<GroupValue> {
        let before = before.saturating_sub(NANOSECOND).ok()?;
        let last = |(rule, value): (&RuleSchedule, u32)| {
            Some((rule.last(before)?, rule.position, group_value(group, rule, value)))
        };
        let last = self
            .rules_setting(group, field)
            .filter_map(last)
            .max_by_key(|(at, position, _)| (*at, *position));
        last.map(|(at, _, found)| GroupValue { at, ..found })
    }

    /// The next value that a group sets after an instant.
    fn next(
        &self,
        group: &Group,
        field: Field,
        after: Timestamp,
        is_one: impl Fn(u32) -> bool,
    ) -> Option<GroupValue> {
        let after = after.saturating_add(NANOSECOND).ok()?;
        let next = |(rule, value): (&RuleSchedule, u32)| {
            let at = rule.begins(after, Timestamp::MAX).next()?;
            Some((at, rule.position, group_value(group, rule, value)))
        };
        let others = self.rules_setting(group, field).filter(|(_, value)| is_one(*value));
        // Of several writes at one instant, the later rule in the list wins.
        let next =
            others.filter_map(next).min_by_key(|(at, position, _)| (*at, u32::MAX - position));
        next.map(|(at, _, found)| GroupValue { at, ..found })
    }

    /// The next actions of the group that has set this value.
    pub(super) fn end(
        &self,
        group: &Group,
        field: Field,
        (write, value): (&Write, u32),
        side: Side,
    ) -> End {
        let next = self.next(group, field, write.at, |_| true);
        let is_again = |next: &GroupValue| {
            next.value == value
                && Some(&next.writer) == write.writer()
                && self.is_same_day(group, write.at, next.at)
        };
        let again = next.filter(is_again).map(|it| it.at);
        End { again, other: self.next(group, field, write.at, |it| side.contains(it, value)) }
    }

    /// Whether a value has lasted as long as it usually does. The group has left a value that lasts longer to others.
    /// For values that last for weeks the result is `false`: that is too long to conclude so.
    pub(super) fn has_lasted(
        &mut self,
        group: &Group,
        field: Field,
        (write, side): (&Write, Side),
        at: Timestamp,
    ) -> bool {
        let Some(usual) = write.writer().and_then(|it| self.lasting(group, field, it, side)) else {
            return false;
        };
        usual <= super::RECENT && self.on_its_clock(group, write.at, at) >= usual
    }

    /// Whether a group has a value most of the time, and interrupts it only for a short time.
    pub(super) fn is_rest(
        &mut self,
        group: &Group,
        field: Field,
        write: &Write,
        (end, side): (&End, Side),
    ) -> bool {
        let of_both = write.writer().zip(end.other.as_ref()).and_then(|(writer, other)| {
            let lasting = self.lasting(group, field, writer, side)?;
            Some((lasting, self.lasting(group, field, &other.writer, side.other())?))
        });
        of_both.is_some_and(|(lasting, other)| lasting > other * SHORTER)
    }

    /// The usual time from a write of a rule until its group sets a value on one side of the written value.
    pub(super) fn lasting(
        &mut self,
        group: &Group,
        field: Field,
        writer: &Writer,
        side: Side,
    ) -> Option<SignedDuration> {
        let key = (writer.clone(), field, side);
        if let Some(known) = self.lasting.get(&key) {
            return *known;
        }
        let is_one = |(rule, _): &(&RuleSchedule, u32)| Some(&rule.rule) == writer.rule.as_ref();
        let lasting = self.rules_setting(group, field).find(is_one).and_then(|(rule, value)| {
            let begins = rule.begins(self.from, Timestamp::MAX).take(FIRINGS);
            let until_other =
                |at| Some((at, self.next(group, field, at, |it| side.contains(it, value))?.at));
            let lasting = begins.filter_map(until_other);
            let mut all: Vec<SignedDuration> =
                lasting.map(|(at, other)| self.on_its_clock(group, at, other)).collect();
            all.sort_unstable();
            all.get(all.len().saturating_sub(1) / 2).copied()
        });
        self.lasting.insert(key, lasting);
        lasting
    }

    /// Whether a rule fires on half as many days as another rule, or fewer: then the rule is an exception to the other.
    pub(super) fn is_exception(&mut self, one: &Writer, other: &Writer) -> bool {
        let (one, other) = (self.days(one), self.days(other));
        one > 0 && one.saturating_mul(2) <= other
    }

    /// The number of days on which a rule fires; 0 if the rule is unknown.
    fn days(&mut self, writer: &Writer) -> u32 {
        if let Some(days) = self.days.get(writer) {
            return *days;
        }
        let of_policy = self.rules.iter().filter(|((policy, _), _)| *policy == writer.policy);
        let mut rules = of_policy.flat_map(|(_, rules)| rules);
        let rule = rules.find(|it| Some(&it.rule) == writer.rule.as_ref());
        let days = rule.map_or(0, |rule| {
            let first = rule.zone().civil(self.from).date().first_of_month();
            let months = first.series(jiff::Span::new().months(1)).take(MONTHS);
            months.map(|it| rule.days_of_month(it.year(), it.month())[0].count_ones()).sum()
        });
        self.days.insert(writer.clone(), days);
        days
    }

    pub(super) fn is_same_day(&self, group: &Group, one: Timestamp, other: Timestamp) -> bool {
        let day = |at| self.clock(group, at).date();
        day(one) == day(other)
    }

    /// The difference of civil times on the clock of a group. A clock change does not affect the difference.
    fn on_its_clock(&self, group: &Group, from: Timestamp, to: Timestamp) -> SignedDuration {
        self.clock(group, to).duration_since(self.clock(group, from))
    }

    fn clock(&self, group: &Group, at: Timestamp) -> DateTime {
        let rule = self.rules.get(group).and_then(|rules| rules.first());
        rule.map_or_else(|| jiff::tz::Offset::UTC.to_datetime(at), |rule| rule.zone().civil(at))
    }

    /// The rules of a group that set a field, each with its value.
    fn rules_setting(
        &self,
        group: &Group,
        field: Field,
    ) -> impl Iterator<Item = (&RuleSchedule, u32)> {
        let rules = self.rules.get(group).into_iter().flatten();
        rules.filter_map(move |rule| {
            let (_, value) = rule.sets.iter().find(|(of, _)| *of == field)?;
            Some((rule, *value))
        })
    }
}

fn group_value(group: &Group, rule: &RuleSchedule, value: u32) -> GroupValue {
    let writer = Writer { policy: group.0.clone(), rule: Some(rule.rule.clone()) };
    GroupValue { at: Timestamp::MIN, value, writer }
}
