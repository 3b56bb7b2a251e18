//! Scores of clusters in `--assume`: `addonplacementscore/east/default.cpuratio=90`, and the expiry of the scores of
//! an object: `addonplacementscore/east/default.validUntil=never`.
//!
//! Placements must read the score. A missing score is added by the assumption, and never expires.

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

/// Whether an assumption is about the scores of an object.
pub(super) fn is_score(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(kind, _)| kind_named(kind) == Some(Kind::AddOnPlacementScore.name()))
}

/// The assumptions so far, to reject duplicates.
#[derive(Default)]
pub(super) struct AssumedScores {
    known: BTreeSet<(usize, Identity, String)>,
}

/// An assumption about an object.
enum Assumption {
    Score(Score),
    /// The expiry of the scores; `None` for never.
    ValidUntil(Option<Timestamp>),
}

impl AssumedScores {
    /// Applies the assumption to every cluster of every place with a placement that reads the score.
    pub(super) fn assume(
        &mut self,
        text: &str,
        places: &mut [InputPlace],
        now: Timestamp,
    ) -> Result<(), ArgumentError> {
        let wrong = |message: &str| ArgumentError::whole(ARGUMENT, text, message);
        let (object, value) = text.rsplit_once('=').ok_or_else(|| wrong(USAGE))?;
        // Names of objects and of scores may contain dots.
        let splits: Vec<(Subject, &str)> = object
            .match_indices('.')
            .filter_map(|(dot, _)| {
                Some((Subject::parse(ARGUMENT, &object[..dot]).ok()?, &object[dot + 1..]))
            })
            .collect();
        let mut read = all_read(places, &splits, resources_read);
        if read.is_empty() {
            // An expression may compute the name of an absent object.
            let mut splits = splits.chunks(1).map(|it| all_read(places, it, resources_computed));
            read = splits.find(|it| !it.is_empty()).unwrap_or_default();
        }
        if read.is_empty() {
            let (object, name) = object.rsplit_once('.').ok_or_else(|| wrong(USAGE))?;
            parse(text, name, value, now)?;
            let message = format!("no placement reads {name} of {object} for an existing cluster");
            return Err(wrong(&message));
        }
        let is_of_scores = |(place, object, name): &(usize, Identity, &str)| {
            *name != VALID_UNTIL || is_there(&places[*place].world, object)
        };
        let (read, missing): (Vec<_>, Vec<_>) = read.into_iter().partition(is_of_scores);
        if read.is_empty()
            && let Some((_, object, _)) = missing.first()
        {
            let message = format!("{object} does not exist, so its scores cannot expire");
            return Err(wrong(&message));
        }
        for (number, object, name) in read {
            if !self.known.insert((number, object.clone(), name.to_owned())) {
                return Err(wrong(&format!("{name} of {object} is already assumed")));
            }
            assume_of(&mut places[number], &object, name, &parse(text, name, value, now)?);
        }
        Ok(())
    }
}

const USAGE: &str = "write an object, a score and a number from -100 to 100, such as \
                     addonplacementscore/east/default.cpuratio=90, or the expiry of its scores, such as \
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

/// The matching objects of existing clusters, each with the index of its place and the score. Only objects that a
/// placement reads match.
fn all_read<'s>(
    places: &[InputPlace],
    splits: &[(Subject, &'s str)],
    read: fn(&World, &Subject, &str) -> BTreeSet<Arc<str>>,
) -> Vec<(usize, Identity, &'s str)> {
    let mut all = Vec::new();
    for (subject, name) in splits {
        for (number, place) in places.iter().enumerate() {
            let resources = read(&place.world, subject, name);
            let objects = place.world.placement.extra.hub.clusters.keys().flat_map(|cluster| {
                let resources = resources.iter();
                resources.map(move |it| Kind::AddOnPlacementScore.identity(cluster, it))
            });
            let objects = objects.filter(|object| subject.fits(object));
            all.extend(objects.map(|object| (number, object, *name)));
        }
    }
    all
}

/// The names of objects with a score that a placement reads. Expressions read all the scores of an object.
fn resources_read(world: &World, _: &Subject, score: &str) -> BTreeSet<Arc<str>> {
    let placements = world.placement.policies.values().filter_map(|it| it.policy.as_deref());
    let read = placements
        .flat_map(|it| resources(it, score).chain(it.read_resources(&world.placement.extra.hub)));
    read.cloned().collect()
}

/// The object with exactly this name, if an expression may read it.
fn resources_computed(world: &World, subject: &Subject, _: &str) -> BTreeSet<Arc<str>> {
    let mut placements = world.placement.policies.values().filter_map(|it| it.policy.as_deref());
    let name = subject.whole_name().filter(|name| placements.any(|it| it.reads_scores(name)));
    name.map(Arc::from).into_iter().collect()
}

/// Whether an object has scores; only then can their expiry be assumed.
fn is_there(world: &World, object: &Identity) -> bool {
    let of_resource = world.placement.extra.hub.scores.get(object.name());
    of_resource.is_some_and(|it| it.contains_key(object.namespace()))
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
    let hub = Arc::make_mut(&mut place.world.placement.extra.hub);
    let of_resource = hub.scores.entry(object.name().into()).or_default();
    let scores = of_resource.entry(object.namespace().into()).or_default();
    let sentence = match assumption {
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
    place.assumed.insert((Family::Placement, sentence));
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
