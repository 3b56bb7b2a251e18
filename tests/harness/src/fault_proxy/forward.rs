//! A request through the proxy: the proxy records the request, may inject a fault, forwards the request, and returns
//! the response.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use http::{HeaderMap, Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use kube::client::Body;

use super::Service;
use super::fault::{Effect, InjectedResponse};

/// Headers of the connection, and credentials: the proxy uses its own credentials for the API server.
const OF_THE_CONNECTION: [header::HeaderName; 6] = [
    header::HOST,
    header::AUTHORIZATION,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    header::TE,
    header::UPGRADE,
];

/// Responds to a request. An error cuts the connection without a response.
pub(super) async fn respond(
    service: Arc<Service>,
    request: Request<Incoming>,
) -> Result<Response<Body>> {
    let (number, recorded) = service.log.add(&request);
    let Some(taken) = service.faults.take_for(&recorded) else {
        return hand_on(&service, number, request).await;
    };
    service.log.amend(number, |recorded| recorded.injected = true);
    match &taken.effect {
        Effect::Respond(response) => injected(&service, number, response),
        Effect::ReplaceResponse(response) => {
            drop(ask_api_server(&service, number, request).await?);
            injected(&service, number, response)
        }
        Effect::Refuse => bail!("refused on purpose"),
        Effect::LoseResponse => {
            // The API server starts its response after it has applied the request.
            let lost = ask_api_server(&service, number, request).await?;
            drop(lost);
            bail!("the response was dropped on purpose")
        }
        Effect::Hang => {
            taken.released().await?;
            hand_on(&service, number, request).await
        }
        Effect::Delay(by) => {
            tokio::time::sleep(*by).await;
            hand_on(&service, number, request).await
        }
    }
}

fn injected(service: &Service, number: u64, wanted: &InjectedResponse) -> Result<Response<Body>> {
    let response = wanted.response()?;
    let code = wanted.code().as_u16();
    service.log.amend(number, |recorded| recorded.status = Some(code));
    Ok(response)
}

async fn hand_on(
    service: &Service,
    number: u64,
    request: Request<Incoming>,
) -> Result<Response<Body>> {
    let mut response = ask_api_server(service, number, request).await?;
    remove_of_the_connection(response.headers_mut());
    let code = response.status().as_u16();
    service.log.amend(number, |recorded| recorded.status = Some(code));
    Ok(response)
}

/// If the program disconnects before the response, the runtime drops this future and cancels the request.
async fn ask_api_server(
    service: &Service,
    number: u64,
    request: Request<Incoming>,
) -> Result<Response<Body>> {
    let (mut head, body) = request.into_parts();
    remove_of_the_connection(&mut head.headers);
    let body = body.collect().await.context("the program did not finish its request")?.to_bytes();
    let request = Request::from_parts(head, Body::from(body));
    let response = service.api_server.send(request).await;
    let response = response.context("the API server gave no response")?;
    let code = response.status().as_u16();
    service.log.amend(number, |recorded| recorded.api_server_status = Some(code));
    Ok(response)
}

fn remove_of_the_connection(headers: &mut HeaderMap) {
    for name in &OF_THE_CONNECTION {
        headers.remove(name);
    }
}
