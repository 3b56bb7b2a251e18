//! Evaluates macros: expressions over the items of a list or a map, with a variable for each.

use std::sync::Arc;

use super::stored::FirstCondition;
use super::{EnclosingScope, Evaluated, Evaluation, Scope, no_overload, not_boolean};
use crate::failure::Failure;
use crate::node::{ItemOperation, Node};
use crate::value::{List, Map, Value};

impl<'v> Evaluation<'_, 'v> {
    /// Evaluates a part with a variable.
    fn with(
        &self,
        variable: &Value<'v>,
        node: &'v Node,
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        self.evaluate(node, Some(&Scope { variable, outer: within }))
    }

    fn holds(
        &self,
        variable: &Value<'v>,
        node: &'v Node,
        within: EnclosingScope<'_, 'v>,
    ) -> Result<bool, Failure> {
        match self.with(variable, node, within)? {
            Value::Bool(value) => Ok(value),
            other => Err(no_overload("?:", &[&other])),
        }
    }

    pub(super) fn each(
        &self,
        range: &'v Node,
        each: &'v ItemOperation,
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        let range = match self.evaluate(range, within)? {
            Value::List(list) => list,
            Value::Map(map) => {
                self.meter.spend(map.len())?;
                List::from_items(keys(&map))?
            }
            other => return Err(no_overload("going through its items", &[&other])),
        };
        match each {
            ItemOperation::Quantified { holds, decides } => {
                self.quantified(&range, holds, *decides, within)
            }
            ItemOperation::ExactlyOne { holds } => {
                let mut found = 0_usize;
                for item in range.iter() {
                    found += usize::from(self.holds(&item, holds, within)?);
                }
                Ok(Value::Bool(found == 1))
            }
            ItemOperation::Filter { holds } => {
                let mut kept = Vec::new();
                for item in range.iter() {
                    if self.holds(&item, holds, within)? {
                        kept.push(item);
                    }
                }
                Value::list(kept)
            }
            ItemOperation::Map { holds, result } => {
                let mut results = Vec::new();
                for item in range.iter() {
                    let is_kept = match holds {
                        Some(holds) => self.holds(&item, holds, within)?,
                        None => true,
                    };
                    if is_kept {
                        results.push(self.with(&item, result, within)?);
                    }
                }
                Value::list(results)
            }
        }
    }

    fn quantified(
        &self,
        range: &List<'v>,
        holds: &'v Node,
        decides: bool,
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        let first = FirstCondition::from_condition(holds).filter(|_| decides);
        let mut failed = None;
        for position in 0..range.len() {
            if let (Some(first), List::Stored(list)) = (&first, range)
                && let Some(steps) = list.get(position).and_then(|item| first.steps_to_no(item))
            {
                self.meter.spend(steps)?;
                continue;
            }
            let item = range.get(position);
            let Some(item) = &item else { break };
            match self.with(item, holds, within) {
                Ok(Value::Bool(value)) if value == decides => return Ok(Value::Bool(value)),
                Ok(Value::Bool(_)) => {}
                Ok(other) => failed = Some(not_boolean(decides, &other)),
                Err(failure) => failed = Some(self.meter.pass_over(failure)?),
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    pub(super) fn optional_map(
        &self,
        of: &'v Node,
        result: &'v Node,
        is_flat: bool,
        within: EnclosingScope<'_, 'v>,
    ) -> Evaluated<'v> {
        match &*self.operand(of, within)? {
            Value::Optional(None) => Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => {
                let result = self.with(value, result, within)?;
                if is_flat { Ok(result) } else { Value::some(result) }
            }
            other => Err(no_overload("optMap", &[other])),
        }
    }
}

fn keys<'v>(map: &Map<'v>) -> Arc<[Value<'v>]> {
    map.iter().map(|(key, _)| key).collect()
}
