//! The other replicas. A replica that does not decide forwards requests to the leader. The leader accepts forwarded
//! requests only from replicas that run as the same `ServiceAccount`.
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

/// The time for which a review by the API server is valid.
const REVIEW_LIFETIME: Duration = Duration::from_mins(1);
/// The time limit of a review.
const REVIEW_TIME: Duration = Duration::from_secs(5);
/// The maximum number of concurrent reviews of tokens from unknown clients. The own token and tokens accepted before
/// have a separate limit of the same size, so unknown clients never delay their reviews.
const REVIEWS_AT_ONCE: usize = 4;
/// The approximate number of reviews that are kept. There are as many tokens as replicas, and a few replaced ones.
const MAX_CACHED_REVIEWS: usize = 64;

/// The reason that a client is not accepted as another replica.
#[derive(Debug, thiserror::Error)]
pub(super) enum PeerError {
    #[error("the request has no token, and requests are forwarded only among replicas")]
    NoToken,
    #[error("the token does not belong to a replica")]
    WrongToken,
    #[error("failed to have the token reviewed: {0}")]
    NotReviewed(String),
}

/// Sends the own token, and checks the tokens of the other replicas.
pub(super) struct Peers {
    client: Client,
    token_file: PathBuf,
    reviews: Mutex<BTreeMap<String, CachedReview>>,
    reviewing: Semaphore,
    reviewing_known: Semaphore,
}

/// The result of an API server's review of a token.
#[derive(Clone)]
struct CachedReview {
    /// The user; `None` if the token is not valid.
    user: Option<String>,
    at: Instant,
}

impl Peers {
    pub(super) fn new(client: Client, token_file: PathBuf) -> Peers {
        Peers {
            client,
            token_file,
            reviews: Mutex::default(),
            reviewing: Semaphore::new(REVIEWS_AT_ONCE),
            reviewing_known: Semaphore::new(REVIEWS_AT_ONCE),
        }
    }

    /// The own token, read from the file again: the token is replaced within the hour.
    pub(super) fn own_token(&self) -> Result<String, String> {
        let content = std::fs::read_to_string(&self.token_file);
        let token = content.map_err(|error| {
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
        if let Some(review) = self.cached_review(token) {
            return Ok(review.user);
        }
        let review = async {
            let _turn = reviewing.acquire().await;
            // Another request may have had the same token reviewed.
            match self.cached_review(token) {
                Some(review) => Ok(review.user),
                None => self.review(token).await,
            }
        };
        let user = match timeout(REVIEW_TIME, review).await {
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
        // The limit also applies to a client that keeps sending invalid tokens.
        if all.len() < MAX_CACHED_REVIEWS {
            all.insert(token.to_owned(), CachedReview { user: user.clone(), at: Instant::now() });
        }
        Ok(user)
    }

    fn cached_review(&self, token: &str) -> Option<CachedReview> {
        self.lock().get(token).filter(|it| it.at.elapsed() < REVIEW_LIFETIME).cloned()
    }

    async fn review(&self, token: &str) -> Result<Option<String>, Error> {
        let spec = TokenReviewSpec {
            audiences: Some(vec![AUDIENCE.to_owned()]),
            token: Some(token.to_owned()),
        };
        let request = TokenReview { spec, ..TokenReview::default() };
        let response =
            Api::all(self.client.clone()).create(&PostParams::default(), &request).await?;
        let status = response.status.unwrap_or_default();
        let is_for_us = status.audiences.iter().flatten().any(|audience| audience == AUDIENCE);
        let is_known = status.authenticated == Some(true) && is_for_us;
        Ok(status.user.and_then(|user| user.username).filter(|_| is_known))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, CachedReview>> {
        self.reviews.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
