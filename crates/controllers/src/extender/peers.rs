//! The other replicas: a call that is not for this one is passed on to the one that decides, which takes it only from
//! those that run as the same `ServiceAccount`.
//!
//! Each call carries a token. The API server returns its user; a review is repeated when it is more than a minute
//! old.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// The audience of tokens for calls among replicas. A token for another audience is rejected.
pub const AUDIENCE: &str = "almanac.dev/extender";

/// How long the word of the API server about a token counts.
const REVIEW_LASTS: Duration = Duration::from_mins(1);
/// How long an answer about a token is awaited.
const REVIEW_TIME: Duration = Duration::from_secs(5);
/// How many tokens of unknown callers are reviewed at once. Our own token, and those accepted before, have as many
/// reviews of their own, so that unknown callers never delay them.
const REVIEWS_AT_ONCE: usize = 4;
/// About how many reviews are kept. There are as many tokens as replicas, and a few that have been replaced.
const REMEMBERED: usize = 64;

/// Why a caller does not count as another replica.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stranger {
    #[error("the request has no token, and requests are forwarded only among replicas")]
    NoToken,
    #[error("the token is not one of a replica")]
    WrongToken,
    #[error("failed to have the token reviewed: {0}")]
    NotReviewed(String),
}

/// Sends our own token, and checks those of the others.
pub(super) struct Peers {
    client: Client,
    token_file: PathBuf,
    reviewed: Mutex<BTreeMap<String, Reviewed>>,
    reviewing: Semaphore,
    reviewing_known: Semaphore,
}

/// The result of an API server's review of a token.
#[derive(Clone)]
struct Reviewed {
    /// The user; `None` if the token is not valid.
    user: Option<String>,
    at: Instant,
}

impl Peers {
    pub(super) fn new(client: Client, token_file: PathBuf) -> Peers {
        Peers {
            client,
            token_file,
            reviewed: Mutex::default(),
            reviewing: Semaphore::new(REVIEWS_AT_ONCE),
            reviewing_known: Semaphore::new(REVIEWS_AT_ONCE),
        }
    }

    /// Our own token, as the file has it now: tokens are replaced within the hour.
    pub(super) fn own_token(&self) -> Result<String, String> {
        let read = std::fs::read_to_string(&self.token_file);
        let token = read.map_err(|error| {
            format!("failed to read a token from {}: {error}", self.token_file.display())
        })?;
        Ok(token.trim().to_owned())
    }

    /// Whether a call with this token comes from a replica: from the user of our own token.
    pub(super) async fn check(&self, token: Option<&str>) -> Result<(), Stranger> {
        let token = token.ok_or(Stranger::NoToken)?;
        let own = self.own_token().map_err(Stranger::NotReviewed)?;
        let ours = self.user_of(&own, &self.reviewing_known).await?;
        let is_known =
            self.lock().get(token).is_some_and(|it| it.user.is_some() && it.user == ours);
        let reviewing = if is_known { &self.reviewing_known } else { &self.reviewing };
        let theirs = self.user_of(token, reviewing).await?;
        if ours.is_some() && ours == theirs { Ok(()) } else { Err(Stranger::WrongToken) }
    }

    async fn user_of(
        &self,
        token: &str,
        reviewing: &Semaphore,
    ) -> Result<Option<String>, Stranger> {
        if let Some(reviewed) = self.remembered(token) {
            return Ok(reviewed.user);
        }
        let reviewed = async {
            let _turn = reviewing.acquire().await;
            // Another call may have had the same token reviewed.
            match self.remembered(token) {
                Some(reviewed) => Ok(reviewed.user),
                None => self.review(token).await,
            }
        };
        let user = match timeout(REVIEW_TIME, reviewed).await {
            Ok(Ok(user)) => user,
            Ok(Err(error)) => {
                return Err(Stranger::NotReviewed(almanac_shell::writer::summarize(&error)));
            }
            Err(_) => return Err(Stranger::NotReviewed("no response in time".to_owned())),
        };
        let mut all = self.lock();
        if all.len() >= REMEMBERED {
            all.retain(|_, it| it.at.elapsed() < REVIEW_LASTS && it.user.is_some());
        }
        // The limit holds also for a caller that keeps sending invalid tokens.
        if all.len() < REMEMBERED {
            all.insert(token.to_owned(), Reviewed { user: user.clone(), at: Instant::now() });
        }
        Ok(user)
    }

    fn remembered(&self, token: &str) -> Option<Reviewed> {
        self.lock().get(token).filter(|it| it.at.elapsed() < REVIEW_LASTS).cloned()
    }

    async fn review(&self, token: &str) -> Result<Option<String>, Error> {
        let spec =
            TokenReviewSpec { audiences: Some(vec![AUDIENCE.to_owned()]), token: token.to_owned() };
        let asked = TokenReview { spec, ..TokenReview::default() };
        let answer = Api::all(self.client.clone()).create(&PostParams::default(), &asked).await?;
        let status = answer.status.unwrap_or_default();
        let is_for_us = status.audiences.iter().flatten().any(|audience| audience == AUDIENCE);
        let is_known = status.authenticated == Some(true) && is_for_us;
        Ok(status.user.and_then(|user| user.username).filter(|_| is_known))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Reviewed>> {
        self.reviewed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
