//! The request of a watch, and its stream of lines.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{AsyncBufReadExt as _, StreamExt as _};
use http::HeaderValue;
use http::header::{ACCEPT, ACCEPT_ENCODING};
use kube::Client;
use kube::api::WatchParams;
use kube::core::Request;
use tokio::time::timeout;

use super::{Failure, Next, Selection};
use crate::writer::METADATA_ONLY;

/// The timeout for the response headers.
const TIME_TO_BEGIN: Duration = super::REQUEST_TIMEOUT;

/// The decompressing middleware ends a watch with separately compressed events after the first event.
const UNCOMPRESSED: HeaderValue = HeaderValue::from_static("identity");

/// Starts a watch of the changes after a version.
pub(super) async fn lines(
    client: &Client,
    collection: &str,
    selection: &Selection,
    version: &str,
) -> Result<BoxStream<'static, std::io::Result<String>>, Failure> {
    let next = || Next::WatchFrom(version.to_owned());
    let Selection { fields, labels, lasting, metadata_only, .. } = selection;
    let seconds = u32::try_from(lasting.as_secs()).unwrap_or(u32::MAX);
    let mut parameters = WatchParams::default().timeout(seconds);
    parameters.field_selector.clone_from(fields);
    parameters.label_selector.clone_from(labels);
    let request = Request::new(collection).watch(&parameters, version);
    let request = request.map_err(kube::Error::BuildRequest);
    let mut request = request.map_err(|error| Failure::from_error(&error, next()))?;
    if *metadata_only {
        request.headers_mut().insert(ACCEPT, METADATA_ONLY);
    }
    request.headers_mut().insert(ACCEPT_ENCODING, UNCOMPRESSED);
    match timeout(TIME_TO_BEGIN, client.request_stream(request)).await {
        Ok(Ok(changes)) => Ok(changes.lines().boxed()),
        Ok(Err(error)) => Err(Failure::from_error(&error, next())),
        // A list may succeed although a watch fails.
        Err(_) => Err(Failure::no_answer(TIME_TO_BEGIN, Next::List)),
    }
}

/// Whether a connection ended without a close.
pub(super) fn is_cut(error: &std::io::Error) -> bool {
    let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
    let mut causes =
        std::iter::successors(inner, |cause: &&(dyn Error + 'static)| (*cause).source());
    error.kind() == ErrorKind::UnexpectedEof
        || causes.any(|cause| {
            let io = cause.downcast_ref::<std::io::Error>();
            io.is_some_and(|it| it.kind() == ErrorKind::UnexpectedEof)
                // The chunk decoder reports this error only as a string.
                || cause.to_string().contains("unexpected EOF during chunk")
        })
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_cut_connection_differs_from_a_failed_one() {
        let eof = || io::Error::new(ErrorKind::UnexpectedEof, "peer closed without close_notify");
        assert!(is_cut(&eof()) && is_cut(&io::Error::other(eof())));
        assert!(is_cut(&io::Error::other("unexpected EOF during chunk size line")));
        assert!(!is_cut(&io::Error::other("broken")));
        assert!(!is_cut(&io::Error::from(ErrorKind::ConnectionReset)));
    }
}
