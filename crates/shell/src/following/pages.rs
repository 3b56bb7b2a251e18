//! A page of a listing, that takes only so much memory whatever is in its objects.
//!
//! A namespace's users decide how large their objects are, and the API server can be told only how
//! many it should answer with. So an answer is read up to a length; what is longer is dropped, and
//! fewer objects are asked for.

use futures::AsyncReadExt as _;
use kube::Client;
use kube::api::{DynamicObject, ListParams, ObjectList};
use kube::core::Request;

/// How many objects are asked for at first.
const OBJECTS: u32 = 250;
/// Read, an answer takes several times its length, and several kinds may be read at a time.
const LONGEST_ANSWER: u64 = 2 << 20;
/// An answer that is too long for so many objects is asked for again with a part of them.
const PART: u32 = 4;

/// All objects of a kind, page by page.
pub(super) struct Pages {
    client: Client,
    collection: String,
    asked: ListParams,
    is_last_read: bool,
}

impl Pages {
    pub(super) fn new(client: Client, collection: String) -> Self {
        let asked = ListParams::default().limit(OBJECTS);
        Self { client, collection, asked, is_last_read: false }
    }

    /// The next page, or nothing after the last.
    pub(super) async fn fetch_next(&mut self) -> kube::Result<Option<ObjectList<DynamicObject>>> {
        if self.is_last_read {
            return Ok(None);
        }
        let answer = loop {
            if let Some(answer) = self.answer().await? {
                break answer;
            }
            self.asked.limit = self.asked.limit.map(|objects| (objects / PART).max(1));
        };
        let page: ObjectList<DynamicObject> =
            serde_json::from_slice(&answer).map_err(kube::Error::SerdeError)?;
        self.asked.continue_token = page.metadata.continue_.clone().filter(|it| !it.is_empty());
        self.is_last_read = self.asked.continue_token.is_none();
        Ok(Some(page))
    }

    /// What is answered, unless that is too long. A single object is read in any case: the API server
    /// takes none that is much longer.
    async fn answer(&self) -> kube::Result<Option<Vec<u8>>> {
        let request = Request::new(&self.collection).list(&self.asked);
        let request = request.map_err(kube::Error::BuildRequest)?;
        let longest = match self.asked.limit {
            Some(1) | None => u64::MAX,
            Some(_) => LONGEST_ANSWER,
        };
        let answer = self.client.request_stream(request).await?;
        let mut read = Vec::new();
        // One byte more tells whether there was more.
        let whole =
            std::pin::pin!(answer.take(longest.saturating_add(1))).read_to_end(&mut read).await;
        whole.map_err(kube::Error::ReadEvents)?;
        Ok((read.len() as u64 <= longest).then_some(read))
    }
}
