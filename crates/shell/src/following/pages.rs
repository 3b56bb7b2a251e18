//! A page of a listing. Its memory is bounded, even if its objects are large.
//!
//! Users decide how large their objects are, and a request can limit only their number. So a response is read up to a
//! limit; if it is longer, it is dropped, and fewer objects are requested. Parsed JSON takes ten times its length and
//! more, so one object is parsed at a time.

use futures::AsyncReadExt as _;
use http::HeaderValue;
use http::header::ACCEPT;
use kube::Client;
use kube::api::{ListParams, VersionMatch};
use kube::core::Request;
use serde::Deserialize;
use serde::de::Error as _;

use super::Selection;
use super::reading::{Managers, ReadObject, object};
use crate::json_parts;

/// The number of objects requested at first.
const OBJECTS: u32 = 250;
/// The maximum size of a response. Several kinds may be read at a time.
const MAX_RESPONSE_BYTES: u64 = 2 << 20;
/// The cache of the API server returns everything at once; a response longer than this is read from etcd instead.
const MAX_CACHED_RESPONSE_BYTES: u64 = 4 << 20;
/// Requests only the metadata of each object from the API server.
const METADATA_ONLY: HeaderValue =
    HeaderValue::from_static("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1");
/// The fraction of the number of objects for the next request after a response that is too long.
const PART: u32 = 4;

/// All objects of a kind, page by page.
pub(super) struct Pages {
    client: Client,
    collection: String,
    parameters: ListParams,
    metadata_only: bool,
    is_last_read: bool,
}

impl Pages {
    /// The selected objects: at the latest version, or from the API server's cache, at this version or a later one.
    pub(super) fn new(
        client: Client,
        collection: String,
        selection: &Selection,
        cached_since: Option<&str>,
    ) -> Self {
        let parameters = match cached_since {
            // With a limit, the API server would read from etcd again.
            Some(version) => ListParams::default().at(version).matching(VersionMatch::NotOlderThan),
            None => ListParams::default().limit(OBJECTS),
        };
        let parameters = ListParams {
            field_selector: selection.fields.clone(),
            label_selector: selection.labels.clone(),
            ..parameters
        };
        let metadata_only = selection.metadata_only;
        Self { client, collection, parameters, metadata_only, is_last_read: false }
    }

    /// Limits a page to one object, if that costs the API server less.
    pub(super) fn with_single_objects(mut self) -> Self {
        self.parameters.limit = self.parameters.limit.map(|_| 1);
        self
    }

    /// The next page; `None` after the last.
    pub(super) async fn fetch_next(&mut self) -> kube::Result<Option<Page>> {
        if self.is_last_read {
            return Ok(None);
        }
        let answer = loop {
            if let Some(answer) = self.answer().await? {
                break answer;
            }
            self.parameters.limit = if let Some(objects) = self.parameters.limit {
                Some((objects / PART).max(1))
            } else {
                (self.parameters.resource_version, self.parameters.version_match) = (None, None);
                Some(OBJECTS)
            };
        };
        let head: Head = serde_json::from_slice(&answer).map_err(kube::Error::SerdeError)?;
        self.parameters.continue_token = head.metadata.next.filter(|it| !it.is_empty());
        self.is_last_read = self.parameters.continue_token.is_none();
        Ok(Some(Page { version: head.metadata.version.unwrap_or_default(), answer }))
    }

    /// The response; `None` if it is too long. A single object is read in any case: the API server
    /// accepts no object that is much longer.
    async fn answer(&self) -> kube::Result<Option<Vec<u8>>> {
        let request = Request::new(&self.collection).list(&self.parameters);
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        let longest = match self.parameters.limit {
            Some(1) => u64::MAX,
            None => MAX_CACHED_RESPONSE_BYTES,
            Some(_) => MAX_RESPONSE_BYTES,
        };
        if self.metadata_only {
            request.headers_mut().insert(ACCEPT, METADATA_ONLY);
        }
        let answer = self.client.request_stream(request).await?;
        let mut read = Vec::new();
        // One extra byte shows whether the response continues.
        let whole =
            std::pin::pin!(answer.take(longest.saturating_add(1))).read_to_end(&mut read).await;
        whole.map_err(kube::Error::ReadEvents)?;
        Ok((read.len() as u64 <= longest).then_some(read))
    }
}

/// A page as received.
pub(super) struct Page {
    /// The version of the list; empty if missing.
    pub(super) version: String,
    answer: Vec<u8>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    metadata: ListMetadata,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    #[serde(rename = "resourceVersion")]
    version: Option<String>,
    #[serde(rename = "continue")]
    next: Option<String>,
}

impl Page {
    /// Delivers the objects, each before the next object is parsed.
    pub(super) fn for_each(&self, mut take: impl FnMut(ReadObject)) -> serde_json::Result<()> {
        let answer = std::str::from_utf8(&self.answer).map_err(serde_json::Error::custom)?;
        let fields = json_parts::fields(answer)?;
        let items = fields.iter().find(|(name, written)| name == "items" && *written != "null");
        for item in items.map_or(Ok(Vec::new()), |(_, items)| json_parts::items(items))? {
            take(object(item, Managers::LeftOut));
        }
        Ok(())
    }
}
