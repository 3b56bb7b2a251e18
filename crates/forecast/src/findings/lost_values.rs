//! Values of one group of rules that another group undoes early.
//!
//! The value of a group is its last write, until the group sets another value. The value is lost in two ways:
//! - The group has raised a value, because it sets a lower value later. Before that, another group sets a value below.
//! - The group has lowered a value of another policy, and sets a higher value later. Before that, the same policy
//!   raises it.
//!
//! Nothing is lost if several rules share a field by intent, in succession or one on top of the other:
//! - The value returns soon, as after a maintenance: it is absent for a third of its time at most. A group that sets
//!   back the value of another group sets no value of its own.
//! - The group has the value most of the time, and interrupts it only for a short time.
//! - The value has lasted as long as usual. The night before the weekend is as long as any other night, though the
//!   group that started it sets no other value before Monday.
//! - A rule that fires on half as many days or fewer is an exception to the other rule: closing early on one day of the
//!   year is intended. After the exception, the earlier value must return.
//! - A group never lowers a value itself, and leaves that to others. The exception is a group that follows another
//!   clock and ends its own raise without regard to the other group.
//! - The next value of the group is a step on the way up again, and other groups have ended the previous value.

use std::collections::BTreeMap;
use std::sync::Arc;

use almanac_engine::{Field, PolicyName, Value};
use jiff::{SignedDuration, Timestamp};

use super::RECENT;
use super::group_schedules::{End, Group, GroupSchedules, GroupValue, Side};
use super::held::Write;
use crate::Origin;

/// A longer absence follows no daily cycle.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A value that another group undid early.
#[derive(Clone, Debug)]
pub(super) struct LostValue {
    pub(super) write: Write,
    pub(super) by: Write,
    /// The values before and after.
    pub(super) values: (u32, u32),
    /// The instant at which its group would have set another value.
    pub(super) end: Option<Timestamp>,
    /// Whether the value was lowered directly.
    pub(super) is_cut: bool,
}

/// The values of all groups that set one field.
#[derive(Debug)]
pub(super) struct Requests {
    field: Field,
    groups: Vec<Group>,
    by_group: BTreeMap<Group, Request>,
}

/// The current value of a group.
#[derive(Debug)]
struct Request {
    write: Write,
    value: u32,
    /// The previous value of the group, and the start of that value.
    before: Option<(Timestamp, u32)>,
    /// The replaced value, and the group that set it.
    replaced: Option<(u32, Option<PolicyName>)>,
    /// Whether only the calendar shows the value, because it is older than the run.
    is_of_before: bool,
    /// The last instant at which the field was observed with this value.
    seen: Timestamp,
    state: State,
}

#[derive(Debug)]
enum State {
    Standing,
    Undone(Box<UndoneValue>),
    /// The value has been undone or set back, or has lasted as long as it usually does.
    Over,
}

/// The field has another value than that of the group, and the group's value may still return.
#[derive(Debug)]
struct UndoneValue {
    lost: LostValue,
    end: End,
    /// Whether the write has been an exception so far.
    is_meant: bool,
}

impl Requests {
    /// The last value of each group, regardless of later writers of the field. Where a run leaves out days, the first
    /// stretch has the same knowledge of earlier values as a run without gaps.
    pub(super) fn begin(
        schedules: &GroupSchedules,
        field: Field,
        groups: &[Group],
        (from, is_first): (Timestamp, bool),
    ) -> Requests {
        let requests = groups.iter().filter_map(|group| {
            let GroupValue { at, value, writer } = schedules.last(group, field, from)?;
            let origin =
                Origin { writer: Some(writer), reason: "".into(), moves_other_bound: false };
            let write = Write {
                at,
                value: Some(Value::Number(value)),
                origin: Arc::new(origin),
                group: Some(group.clone()),
            };
            let state = State::Standing;
            let request = Request {
                write,
                value,
                before: None,
                replaced: None,
                is_of_before: !is_first,
                seen: at,
                state,
            };
            Some((group.clone(), request))
        });
        Requests { field, groups: groups.to_vec(), by_group: requests.collect() }
    }

    /// Records that a group sets the field, with the value before this instant.
    pub(super) fn set(
        &mut self,
        write: &Write,
        was: Option<u32>,
        schedules: &mut GroupSchedules,
    ) -> Option<LostValue> {
        let (group, value) = (write.group.clone()?, write.number()?);
        if self.makes_way(write, schedules) {
            return None;
        }
        let mut request = Request {
            write: write.clone(),
            value,
            before: None,
            replaced: None,
            is_of_before: false,
            seen: write.at,
            state: State::Standing,
        };
        let mut lost = None;
        if let Some(mut old) = self.by_group.remove(&group) {
            request.before = old.before;
            if old.write.at < write.at {
                request.before = Some((old.write.at, old.value)).filter(|_| !old.is_of_before);
            }
            if let State::Undone(undone) = std::mem::replace(&mut old.state, State::Over) {
                if value != old.value {
                    lost = undone.has_not_come_back(&group, old.value, was, schedules);
                } else if old.write.writer() != write.writer() {
                    request.state = State::Undone(undone);
                } else if undone.end.again == Some(write.at) {
                    lost = Some(undone.lost).filter(|_| !undone.is_meant);
                }
            }
        }
        self.by_group.insert(group, request);
        lost
    }

    /// Applies a value that has lasted beyond its instant to the requests of other groups.
    pub(super) fn settle(
        &mut self,
        write: &Write,
        before: Option<&Write>,
        schedules: &mut GroupSchedules,
    ) -> Vec<LostValue> {
        let was = before.and_then(Write::number);
        let mut lost = self.decide(write.at, was, schedules);
        let (Some(group), Some(number)) = (write.group.clone(), write.number()) else {
            return lost;
        };
        if self.makes_way(write, schedules) {
            return lost;
        }
        let holder = before.and_then(|it| it.group.clone());
        let is_recent = |at: Timestamp| write.at.duration_since(at) <= RECENT;
        let previous =
            self.by_group.get(&group).and_then(|it| it.before).filter(|it| is_recent(it.0));
        let groups = &self.groups;
        let group_write = GroupWrite { write, number, was, previous, field: self.field, groups };
        let mut sets_back = false;
        for (requester, request) in &mut self.by_group {
            if *requester == group || request.write.at >= write.at {
                continue;
            }
            let is_in_force = holder.as_ref() == Some(requester);
            if is_in_force {
                request.seen = write.at;
            }
            let was_undone =
                matches!(&request.state, State::Undone(it) if it.lost.by.group == write.group);
            let lost_value = request.meet(requester, is_in_force, &group_write, schedules);
            sets_back |= request.value == number
                && lost_value.is_none()
                && (was_undone || was.is_some_and(|was| was > number));
            lost.extend(lost_value);
        }
        if let Some(own) = self.by_group.get_mut(&group).filter(|it| it.write.at == write.at) {
            if sets_back && holder.as_ref() == Some(&group) {
                own.state = State::Over;
            }
            own.replaced = was.map(|was| (was, holder.map(|(policy, _)| policy)));
        }
        lost
    }

    /// The values that have not returned when the decision is due.
    pub(super) fn decide(
        &mut self,
        now: Timestamp,
        was: Option<u32>,
        schedules: &mut GroupSchedules,
    ) -> Vec<LostValue> {
        let mut lost = Vec::new();
        for (group, request) in &mut self.by_group {
            if matches!(&request.state, State::Undone(undone) if undone.limit() <= now)
                && let State::Undone(undone) = std::mem::replace(&mut request.state, State::Over)
            {
                lost.extend(undone.has_not_come_back(group, request.value, was, schedules));
            }
        }
        lost
    }

    /// Whether no group has set the value: it yields to the other bound.
    fn makes_way(&self, write: &Write, schedules: &GroupSchedules) -> bool {
        let sets_it = || {
            let group = write.group.as_ref();
            group
                .zip(write.writer())
                .is_some_and(|(group, it)| schedules.sets(group, it, self.field))
        };
        write.origin.moves_other_bound && !sets_it()
    }

    /// Whether a value that was undone since an instant may still return.
    pub(super) fn is_open(&self, since: Timestamp) -> bool {
        self.by_group.values().any(
            |request| matches!(&request.state, State::Undone(undone) if undone.lost.by.at >= since),
        )
    }
}

/// A write of one group, as an input of the other groups.
struct GroupWrite<'a> {
    write: &'a Write,
    number: u32,
    was: Option<u32>,
    /// The previous value of the group, and the start of that value.
    previous: Option<(Timestamp, u32)>,
    field: Field,
    groups: &'a [Group],
}

impl Request {
    fn meet(
        &mut self,
        group: &Group,
        is_in_force: bool,
        group_write: &GroupWrite<'_>,
        schedules: &mut GroupSchedules,
    ) -> Option<LostValue> {
        match &mut self.state {
            State::Over => None,
            State::Standing => self.undo(group, is_in_force, group_write, schedules),
            State::Undone(undone) => {
                let requested = self.value;
                let lost = &undone.lost;
                let is_lowered = lost.values.1 < requested;
                let is_back = if is_lowered {
                    group_write.number >= requested
                } else {
                    group_write.number <= requested
                };
                if is_back {
                    let was_away = group_write.write.at.duration_since(lost.by.at);
                    let whole = lost.end.map(|end| end.duration_since(lost.write.at));
                    let is_soon = undone.is_meant || whole.is_none_or(|it| was_away * 3 <= it);
                    let lost = (!is_soon).then(|| lost.clone());
                    self.state = State::Standing;
                    return lost;
                }
                if undone.is_meant
                    && group_write.write.group == lost.by.group
                    && group_write.sets_back_another(self.write.at, requested, &undone.end)
                {
                    undone.is_meant = false;
                    undone.lost =
                        group_write.lost(&self.write, false, undone.end.other.as_ref())?;
                }
                None
            }
        }
    }

    fn undo(
        &mut self,
        group: &Group,
        is_in_force: bool,
        group_write: &GroupWrite<'_>,
        schedules: &mut GroupSchedules,
    ) -> Option<LostValue> {
        let GroupWrite { write, number, field, .. } = *group_write;
        let is_lowered = number < self.value;
        let has_lowered = self.replaced.as_ref().filter(|(from, _)| *from > self.value);
        let is_of_writer = has_lowered.is_some_and(|(_, of)| of.as_ref() == write.policy());
        let is_recent = write.at.duration_since(self.seen) <= RECENT;
        let may_be = if is_lowered { is_recent } else { is_recent && is_of_writer };
        if number == self.value || !may_be {
            return None;
        }
        let side = if is_lowered { Side::Below } else { Side::Above };
        let end = schedules.end(group, field, (&self.write, self.value), side);
        if end.other.is_none() && !(is_lowered && end.again.is_some()) {
            if !is_lowered || !is_in_force || !self.is_unknown_to(group, group_write) {
                if is_lowered && schedules.has_one_value(group, field) {
                    self.state = State::Over;
                }
                return None;
            }
            self.state = State::Over;
            return group_write.lost(&self.write, true, None);
        }
        let is_over = end.again.is_none()
            && (schedules.has_lasted(group, field, (&self.write, side), write.at)
                || schedules.is_rest(group, field, &self.write, (&end, side)));
        if is_over || self.is_set_back_long_ago(group, group_write, schedules) {
            self.state = State::Over;
            return None;
        }
        let writers = write.writer().zip(self.write.writer());
        let is_exception = writers.is_some_and(|(one, other)| schedules.is_exception(one, other));
        if is_exception && !is_lowered {
            return None;
        }
        let is_meant =
            is_exception && !group_write.sets_back_another(self.write.at, self.value, &end);
        let lost = group_write.lost(&self.write, is_in_force && is_lowered, end.other.as_ref())?;
        self.state = State::Undone(Box::new(UndoneValue { lost, end, is_meant }));
        None
    }

    /// Whether a group that follows another clock ends its own raise from before this value.
    fn is_unknown_to(&self, group: &Group, group_write: &GroupWrite<'_>) -> bool {
        let ends_its_own = group_write
            .previous
            .is_some_and(|(at, value)| value > group_write.number && at < self.write.at);
        let has_raised = self.replaced.as_ref().is_some_and(|(from, _)| *from <= self.value);
        let is_of_another_clock =
            group_write.write.group.as_ref().is_some_and(|it| it.1 != group.1);
        let is_new = group_write.write.at.duration_since(self.write.at) <= RECENT;
        ends_its_own && has_raised && is_of_another_clock && is_new
    }

    /// Whether the value already was that of another group, among the values from before the run. Only the calendar
    /// shows those values.
    fn is_set_back_long_ago(
        &self,
        group: &Group,
        group_write: &GroupWrite<'_>,
        schedules: &GroupSchedules,
    ) -> bool {
        let (at, field) = (self.write.at, group_write.field);
        if !self.is_of_before && group_write.write.at.duration_since(at) <= RECENT {
            return false;
        }
        let value = |group| schedules.last(group, field, at).map(|it| it.value);
        let others = || group_write.groups.iter().filter(|it| *it != group);
        value(group) != Some(self.value) && others().any(|it| value(it) == Some(self.value))
    }
}

impl GroupWrite<'_> {
    /// Whether the group returns from a later value of its own, but neither to the lost value nor to the
    /// value that would have followed.
    fn sets_back_another(&self, since: Timestamp, requested: u32, end: &End) -> bool {
        let next = end.other.as_ref().map(|it| it.value);
        let previous = self.previous.filter(|(at, _)| *at > since);
        previous.is_some_and(|(_, previous)| {
            previous > requested || (previous < self.number && next != Some(self.number))
        })
    }

    fn lost(&self, write: &Write, is_cut: bool, other: Option<&GroupValue>) -> Option<LostValue> {
        Some(LostValue {
            write: write.clone(),
            by: self.write.clone(),
            values: (self.was?, self.number),
            end: other.map(|it| it.at),
            is_cut,
        })
    }
}

impl UndoneValue {
    /// The deadline for the return of the value.
    fn limit(&self) -> Timestamp {
        let waited = self.lost.by.at.saturating_add(RECENT).unwrap_or(Timestamp::MAX);
        let end = self.end.again.or(self.end.other.as_ref().map(|it| it.at));
        end.map_or(waited, |end| end.min(waited))
    }

    /// Handles a value that has not returned. If the group starts again rather than ends its value, other rules were
    /// meant to end the value.
    fn has_not_come_back(
        self,
        group: &Group,
        requested: u32,
        was: Option<u32>,
        schedules: &GroupSchedules,
    ) -> Option<LostValue> {
        let UndoneValue { lost, end, is_meant } = self;
        let is_lowered = lost.values.1 < requested;
        if is_meant {
            return None;
        }
        let (Some(GroupValue { at, value, .. }), true) = (end.other, is_lowered) else {
            return Some(lost);
        };
        let was = was.unwrap_or(value);
        if value <= was || end.again.is_some() || schedules.is_same_day(group, lost.write.at, at) {
            return Some(lost);
        }
        let is_near = value - was < requested.saturating_sub(value);
        let is_long = at.duration_since(lost.write.at) > DAY;
        (is_long && is_near).then_some(lost)
    }
}
