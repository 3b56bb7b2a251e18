//! Scores of clusters in `--assume`: `addonplacementscore/east/default.cpuratio=90`, and until when the scores of
//! an object count: `addonplacementscore/east/default.validUntil=never`.
//!
//! What counts is what placements read: a score that is not there is there then, and never expires.

use std::collections::BTreeSet;
use std::sync::Arc;

use almanac_api::kinds::{Kind, kind_named};
use almanac_calendar::Zone;
use almanac_engine::placement::{Placement, Score, ScoreSource, Scores};
use almanac_engine::{Family, Identity, World};
use jiff::Timestamp;

use super::ARGUMENT;
use crate::argument_error::ArgumentError;
use crate::input::InputPlace;
use crate::moment;
use crate::subject::Subject;

const VALID_UNTIL: &str = "validUntil";
const NEVER: &str = "never";

/// Whether it is about the scores of an object.
pub(super) fn is_meant(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(kind, _)| kind_named(kind) == Some(Kind::AddOnPlacementScore.name()))
}

/// What has been assumed, so that nothing is assumed twice.
#[derive(Default)]
pub(super) struct Assumed {
    known: BTreeSet<(usize, Identity, String)>,
}

/// What is assumed of an object.
enum Assumption {
    Score(Score),
    /// From when on its scores no longer count; `None` for never.
    ValidUntil(Option<Timestamp>),
}

impl Assumed {
    /// Assumes it of every cluster in every place where a placement reads it.
    pub(super) fn assume(
        &mut self,
        text: &str,
        places: &mut [InputPlace],
        now: Timestamp,
    ) -> Result<(), ArgumentError> {
        let wrong = |message: &str| ArgumentError::whole(ARGUMENT, text, message);
        let (object, value) = text.rsplit_once('=').ok_or_else(|| wrong(USAGE))?;
        let mut is_read = false;
        // Names of objects may have dots, and so may those of scores.
        for (dot, _) in object.match_indices('.') {
            let (subject, name) = (&object[..dot], &object[dot + 1..]);
            let Ok(subject) = Subject::parse(ARGUMENT, subject) else { continue };
            for (number, place) in places.iter_mut().enumerate() {
                for object in objects_read(&place.world, &subject, name) {
                    is_read = true;
                    let key = (number, object.clone(), name.to_owned());
                    if !self.known.insert(key) {
                        let message = format!("{name} of {object} is already assumed");
                        return Err(wrong(&message));
                    }
                    assume_of(place, &object, name, &parse(text, name, value, now)?);
                }
            }
        }
        if is_read {
            return Ok(());
        }
        let (object, name) = object.rsplit_once('.').ok_or_else(|| wrong(USAGE))?;
        parse(text, name, value, now)?;
        Err(wrong(&format!("no placement reads {name} of {object} for a cluster that is there")))
    }
}

const USAGE: &str = "write an object, a score and a number from -100 to 100, such as \
                     addonplacementscore/east/default.cpuratio=90, or until when its scores count, such as \
                     addonplacementscore/east/default.validUntil=never";

fn parse(text: &str, name: &str, value: &str, now: Timestamp) -> Result<Assumption, ArgumentError> {
    if name == VALID_UNTIL {
        return Ok(Assumption::ValidUntil(match value {
            NEVER => None,
            _ => Some(moment::instant(ARGUMENT, value, now, Zone::utc())?),
        }));
    }
    let score = value.parse().ok().and_then(Score::new);
    score.map(Assumption::Score).ok_or_else(|| ArgumentError::whole(ARGUMENT, text, USAGE))
}

/// The objects that fit, of the clusters there are, if a placement reads this score of them.
fn objects_read(world: &World, subject: &Subject, score: &str) -> Vec<Identity> {
    let placements = world.placements.values().filter_map(|it| it.policy.as_deref());
    // Expressions read all the scores of an object.
    let read: BTreeSet<&Arc<str>> = placements
        .flat_map(|it| resources(it, score).chain(it.read_resources(&world.hub)))
        .collect();
    let clusters = world.hub.clusters.keys();
    let all = clusters.flat_map(|cluster| {
        read.iter().map(move |resource| Kind::AddOnPlacementScore.identity(cluster, resource))
    });
    // How long scores are valid can only be assumed where there are some.
    let is_there = |object: &Identity| {
        let of_resource = world.hub.scores.get(object.name());
        of_resource.is_some_and(|it| it.contains_key(object.namespace()))
    };
    let all = all.filter(|object| score != VALID_UNTIL || is_there(object));
    all.filter(|object| subject.fits(object)).collect()
}

fn resources<'w>(placement: &'w Placement, score: &str) -> impl Iterator<Item = &'w Arc<str>> {
    placement.prioritizers.iter().filter_map(move |it| match &it.score {
        ScoreSource::AddOn { resource, score: read } => {
            (score == VALID_UNTIL || **read == *score).then_some(resource)
        }
        ScoreSource::Balance
        | ScoreSource::Steady
        | ScoreSource::AllocatableCpu
        | ScoreSource::AllocatableMemory => None,
    })
}

fn assume_of(place: &mut InputPlace, object: &Identity, name: &str, assumption: &Assumption) {
    let hub = Arc::make_mut(&mut place.world.hub);
    let of_resource = hub.scores.entry(object.name().into()).or_default();
    let scores = of_resource.entry(object.namespace().into()).or_default();
    let said = match assumption {
        Assumption::Score(score) => {
            set(scores, name, *score);
            let until = scores.valid_until.map(|until| format!(" until {until}"));
            format!("{name} of {object} is {}{}", score.get(), until.unwrap_or_default())
        }
        Assumption::ValidUntil(until) => {
            scores.valid_until = *until;
            let until = until.map_or_else(|| NEVER.to_owned(), |until| until.to_string());
            format!("{VALID_UNTIL} of {object} is {until}")
        }
    };
    place.assumed.insert((Family::Placement, said));
}

fn set(scores: &mut Scores, name: &str, score: Score) {
    if let Some((_, known)) = scores.values.iter_mut().find(|(known, _)| **known == *name) {
        *known = score;
        return;
    }
    let mut values = std::mem::take(&mut scores.values).into_vec();
    values.push((name.into(), score));
    scores.values = values.into();
}
