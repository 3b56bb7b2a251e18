//! The other replicas. A replica that does not decide forwards requests to the one that does. That one accepts them
//! only from replicas that run as the same `ServiceAccount`.
//!
//! Each request carries a token. The API server returns its user; a review is repeated after a minute.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// The audience of tokens for requests between replicas. A token for another audience is rejected.
pub const AUDIENCE: &str = "almanac.dev/extender";

/// How long a review by the API server counts.
const REVIEW_LIFETIME: Duration = Duration::from_mins(1);
/// The time limit of a review.
const REVIEW_TIME: Duration = Duration::from_secs(5);
/// The maximum number of concurrent reviews of tokens from unknown clients. The own token and tokens accepted before
/// have as many reviews of their own, so unknown clients never delay them.
const REVIEWS_AT_ONCE: usize = 4;
/// The approximate number of reviews that are kept. There are as many tokens as replicas, and a few replaced ones.
const MAX_CACHED_REVIEWS: usize = 64;

/// Why a client is not accepted as another replica.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    #[error("the request has no token, and requests are forwarded only among replicas")]
    NoToken,
    #[error("the token is not one of a replica")]
    WrongToken,
    #[error("failed to have the token reviewed: {0}")]
    NotReviewed(String),
}

/// Sends the own token, and checks the tokens of the other replicas.
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

    /// The own token, read from the file again: it is replaced within the hour.
    pub(super) fn own_token(&self) -> Result<String, String> {
        let read = std::fs::read_to_string(&self.token_file);
        let token = read.map_err(|error| {
            format!("failed to read a token from {}: {error}", self.token_file.display())
        })?;
        Ok(token.trim().to_owned())
    }

    /// Whether a request with this token comes from a replica: from the user of the own token.
    pub(super) async fn check(&self, token: Option<&str>) -> Result<(), PeerError> {
        let token = token.ok_or(PeerError::NoToken)?;
        let own = self.own_token().map_err(PeerError::NotReviewed)?;
        let ours = self.user_of(&own, &self.reviewing_known).await?;
        let is_known =
            self.lock().get(token).is_some_and(|it| it.user.is_some() && it.user == ours);
        let reviewing = if is_known { &self.reviewing_known } else { &self.reviewing };
        let theirs = self.user_of(token, reviewing).await?;
        if ours.is_some() && ours == theirs { Ok(()) } else { Err(PeerError::WrongToken) }
    }

    async fn user_of(
        &self,
        token: &str,
        reviewing: &Semaphore,
    ) -> Result<Option<String>, PeerError> {
        if let Some(reviewed) = self.remembered(token) {
            return Ok(reviewed.user);
        }
        let reviewed = async {
            let _turn = reviewing.acquire().await;
            // Another request may have had the same token reviewed.
            match self.remembered(token) {
                Some(reviewed) => Ok(reviewed.user),
                None => self.review(token).await,
            }
        };
        let user = match timeout(REVIEW_TIME, reviewed).await {
            Ok(Ok(user)) => user,
            Ok(Err(error)) => {
                return Err(PeerError::NotReviewed(almanac_shell::writer::summarize(&error)));
            }
            Err(_) => return Err(PeerError::NotReviewed("no response in time".to_owned())),
        };
        let mut all = self.lock();
        if all.len() >= MAX_CACHED_REVIEWS {
            all.retain(|_, it| it.at.elapsed() < REVIEW_LIFETIME && it.user.is_some());
        }
        // The limit also holds for a client that keeps sending invalid tokens.
        if all.len() < MAX_CACHED_REVIEWS {
            all.insert(token.to_owned(), Reviewed { user: user.clone(), at: Instant::now() });
        }
        Ok(user)
    }

    fn remembered(&self, token: &str) -> Option<Reviewed> {
        self.lock().get(token).filter(|it| it.at.elapsed() < REVIEW_LIFETIME).cloned()
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
