//! Requests to the API server, and the meaning of its responses. The only verbs are `get`, `list` and `watch`.

use std::error::Error;
use std::io;
use std::time::Duration;

use almanac_api::exempt::{is_marked, namespaces};
use almanac_api::kinds::Kind;
use almanac_api::kubernetes::KubernetesMinor;
use almanac_shell::client::Connection;
use anyhow::{Context as _, anyhow};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, ObjectMeta};
use kube::client::AuthError;
use kube::core::discovery::Scope as ResourceScope;
use kube::core::gvk::GroupVersionKind;
use kube::discovery::pinned_kind;
use tokio::time::error::Elapsed;

use super::proposed::Proposed;

/// The maximum number of concurrent requests.
pub(super) const MAX_CONCURRENT: usize = 8;
/// The page size of a list, as in kubectl.
const PAGE: u32 = 500;
/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The namespaces to read.
pub(super) enum Scope {
    /// All namespaces.
    Cluster,
    /// One namespace.
    Namespace(String),
}

impl Scope {
    /// The namespace; `None` for all.
    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Scope::Cluster => None,
            Scope::Namespace(name) => Some(name),
        }
    }
}

/// The result of a request that the server has understood.
pub(super) enum LookupResult<T> {
    Found(T),
    /// The object or its kind does not exist.
    Absent,
    /// Reading the object is forbidden, so its existence is unknown. Contains the server's message.
    Forbidden(String),
}

/// A kind found by discovery.
pub(super) struct Discovered {
    pub(super) resource: ApiResource,
    is_namespaced: bool,
}

/// All requests to a cluster.
pub(super) struct Requests {
    connection: Connection,
    scope: Scope,
    /// The objects of `--what-if`.
    pub(super) proposed: Proposed,
}

impl Requests {
    pub(super) fn new(connection: Connection, scope: Scope, proposed: Proposed) -> Requests {
        Requests { connection, scope, proposed }
    }

    /// The scope, for messages.
    pub(super) fn place(&self) -> String {
        match &self.scope {
            Scope::Cluster => "all namespaces".to_owned(),
            Scope::Namespace(namespace) => format!("namespace {namespace}"),
        }
    }

    /// A message that there are no policies, with the next step.
    pub(super) fn why_empty(&self) -> String {
        let place = self.place();
        let hint = match self.scope {
            Scope::Cluster => "",
            Scope::Namespace(_) => "; use -n for another namespace, or -A for all",
        };
        format!("no policies found in {place}{hint}")
    }

    /// The client of the requests.
    pub(super) fn client(&self) -> Client {
        self.connection.client.clone()
    }

    /// The version of the API server; `None` if the server does not return its version.
    pub(super) async fn version(&self) -> Option<KubernetesMinor> {
        let info = self.with_timeout(self.connection.client.apiserver_version()).await.ok()?;
        KubernetesMinor::from_server(&info.major, &info.minor)
    }

    /// The namespaces to read.
    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether the scope includes a namespace.
    pub(super) fn is_in_scope(&self, namespace: &str) -> bool {
        match &self.scope {
            Scope::Cluster => true,
            Scope::Namespace(name) => name == namespace,
        }
    }

    /// All objects of a kind in the scope.
    pub(super) async fn list(
        &self,
        kind: Kind,
    ) -> anyhow::Result<LookupResult<Vec<DynamicObject>>> {
        self.list_of(kind, false).await
    }

    /// All objects of a kind: in all namespaces if `is_everywhere`, else in the scope.
    pub(super) async fn list_of(
        &self,
        kind: Kind,
        is_everywhere: bool,
    ) -> anyhow::Result<LookupResult<Vec<DynamicObject>>> {
        let scope = Some(&self.scope).filter(|_| !is_everywhere);
        let response = self.list_slim(&kind.resource(), scope, Some).await?;
        match response {
            // A server also returns this for kinds that it does not serve.
            LookupResult::Forbidden(_) if !self.serves(kind).await => Ok(LookupResult::Absent),
            LookupResult::Found(objects) => {
                let is_listed = |namespace: &str| is_everywhere || self.is_in_scope(namespace);
                Ok(LookupResult::Found(self.proposed.applied_to_all(kind, objects, is_listed)))
            }
            response => Ok(response),
        }
    }

    /// All objects of a served kind; a namespaced kind has a scope. `slim` reduces each object.
    pub(super) async fn list_slim<T>(
        &self,
        resource: &ApiResource,
        scope: Option<&Scope>,
        slim: impl Fn(DynamicObject) -> Option<T>,
    ) -> anyhow::Result<LookupResult<Vec<T>>> {
        let name = match &*resource.group {
            "" => resource.plural.clone(),
            group => format!("{}.{group}", resource.plural),
        };
        let place = scope.map_or(String::new(), |_| format!(" in {}", self.place()));
        let operation = format!("list {name}{place}");
        let api = self.api(resource, scope);
        let mut all = Vec::new();
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = match self.with_timeout(api.list(&params)).await {
                Err(error) if is_expired(&error) && params.limit.is_some() => {
                    // The token of the next page has expired, so the list is requested without pages.
                    all.clear();
                    params = ListParams::default();
                    continue;
                }
                response => self.lookup(response, &operation)?,
            };
            let page = match page {
                LookupResult::Found(page) => page,
                LookupResult::Absent => return Ok(LookupResult::Absent),
                LookupResult::Forbidden(message) => return Ok(LookupResult::Forbidden(message)),
            };
            all.extend(page.items.into_iter().filter_map(&slim));
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => params = params.continue_token(&next),
                None => return Ok(LookupResult::Found(all)),
            }
        }
    }

    /// The API of a kind; a namespaced kind has a scope.
    fn api(&self, resource: &ApiResource, scope: Option<&Scope>) -> Api<DynamicObject> {
        let client = self.connection.client.clone();
        match scope {
            Some(Scope::Namespace(name)) => Api::namespaced_with(client, name, resource),
            Some(Scope::Cluster) | None => Api::all_with(client, resource),
        }
    }

    /// The namespaces in scope with the ignore annotation.
    pub(super) async fn marked_namespaces(&self) -> anyhow::Result<LookupResult<Vec<String>>> {
        let client = self.connection.client.clone();
        let api: Api<DynamicObject> = Api::all_with(client, &namespaces());
        let request = async {
            match &self.scope {
                Scope::Cluster => {
                    let all = api.list_metadata(&ListParams::default()).await?;
                    Ok(all.items.into_iter().map(|it| it.metadata).collect())
                }
                Scope::Namespace(name) => Ok(vec![api.get_metadata(name).await?.metadata]),
            }
        };
        let marked_names = self.with_timeout(request).await.map(|all: Vec<ObjectMeta>| {
            let marked = all.into_iter().filter(is_marked);
            marked.filter_map(|metadata| metadata.name).collect()
        });
        self.lookup(marked_names, "read namespaces")
    }

    /// Whether a namespace has the ignore annotation.
    pub(super) async fn is_marked_namespace(
        &self,
        name: &str,
    ) -> anyhow::Result<LookupResult<bool>> {
        let client = self.connection.client.clone();
        let api: Api<DynamicObject> = Api::all_with(client, &namespaces());
        let response = self.with_timeout(api.get_metadata(name)).await;
        self.lookup(response.map(|it| is_marked(&it.metadata)), "read namespaces")
    }

    /// The permission to read the namespaces in the scope: the verb, and their name in messages.
    pub(super) fn namespace_permission(&self) -> (&'static str, String) {
        match &self.scope {
            Scope::Cluster => ("list", "any namespace".to_owned()),
            Scope::Namespace(_) => ("get", self.place()),
        }
    }

    /// The object of a kind with this name.
    pub(super) async fn get(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<LookupResult<DynamicObject>> {
        let client = self.connection.client.clone();
        let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &kind.resource());
        let response = self.with_timeout(api.get(name)).await;
        let response =
            self.lookup(response, &format!("get {} {namespace}/{name}", kind.resource_name()))?;
        let applied = |live| self.proposed.applied(&kind.identity(namespace, name), live);
        Ok(match response {
            LookupResult::Found(object) => {
                applied(Some(object)).map_or(LookupResult::Absent, LookupResult::Found)
            }
            LookupResult::Absent => applied(None).map_or(LookupResult::Absent, LookupResult::Found),
            LookupResult::Forbidden(message) => LookupResult::Forbidden(message),
        })
    }

    /// The replicas in the `scale` subresource of an object.
    pub(super) async fn get_replicas(
        &self,
        kind: &Discovered,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<LookupResult<Option<u32>>> {
        let (client, resource) = (self.connection.client.clone(), &kind.resource);
        let api: Api<DynamicObject> = if kind.is_namespaced {
            Api::namespaced_with(client, namespace, resource)
        } else {
            Api::all_with(client, resource)
        };
        let response = self.with_timeout(api.get_scale(name)).await;
        let response = response.map(|scale| scale.spec.and_then(|spec| spec.replicas));
        let response =
            response.map(|replicas| replicas.and_then(|count| u32::try_from(count).ok()));
        self.lookup(response, &format!("get the scale of {} {namespace}/{name}", resource.plural))
    }

    /// Discovers a kind.
    pub(super) async fn discover(
        &self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> anyhow::Result<LookupResult<Discovered>> {
        let requested_kind = GroupVersionKind::gvk(group, version, kind);
        let discovered =
            self.with_timeout(pinned_kind(&self.connection.client, &requested_kind)).await;
        if let Err(RequestFailure::Kube(kube::Error::Discovery(_))) = discovered {
            return Ok(LookupResult::Absent);
        }
        let discovered = discovered.map(|(resource, capabilities)| Discovered {
            resource,
            is_namespaced: capabilities.scope == ResourceScope::Namespaced,
        });
        self.lookup(discovered, &format!("discover the kinds of {group}/{version}"))
    }

    /// Whether the cluster serves a kind; true if that is unknown.
    async fn serves(&self, kind: Kind) -> bool {
        let (client, version) = (&self.connection.client, kind.api_version());
        let listed = if kind.group().is_empty() {
            self.with_timeout(client.list_core_api_resources(&version)).await
        } else {
            self.with_timeout(client.list_api_group_resources(&version)).await
        };
        match listed {
            Ok(list) => list.resources.iter().any(|resource| resource.name == kind.plural()),
            Err(RequestFailure::Kube(kube::Error::Api(status))) => status.code != 404,
            Err(_) => true,
        }
    }

    async fn with_timeout<T>(
        &self,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, RequestFailure> {
        match tokio::time::timeout(TIMEOUT, request).await {
            Ok(response) => response.map_err(RequestFailure::Kube),
            Err(_) => Err(RequestFailure::TooLate),
        }
    }

    fn lookup<T>(
        &self,
        result: Result<T, RequestFailure>,
        operation: &str,
    ) -> anyhow::Result<LookupResult<T>> {
        let server = self.connection.server.trim_end_matches('/');
        match result {
            Ok(value) => Ok(LookupResult::Found(value)),
            Err(RequestFailure::Kube(kube::Error::Api(status))) => match status.code {
                403 => Ok(LookupResult::Forbidden(status.message)),
                404 => Ok(LookupResult::Absent),
                401 => Err(anyhow!(
                    "the server did not authenticate the request (401 {})",
                    status.message
                ))
                .with_context(|| format!("failed to {operation} at {server}")),
                code => Err(anyhow!("the server returned {code} {}", status.message))
                    .with_context(|| format!("failed to {operation} at {server}")),
            },
            Err(RequestFailure::Kube(error @ kube::Error::SerdeError(_))) => {
                Err(anyhow!(error)).with_context(|| format!("failed to {operation} at {server}"))
            }
            Err(RequestFailure::Kube(error)) => {
                Err(anyhow!(cause_of(&error))).with_context(|| format!("failed to reach {server}"))
            }
            Err(RequestFailure::TooLate) => {
                Err(anyhow!("no response within {} seconds", TIMEOUT.as_secs()))
                    .with_context(|| format!("failed to reach {server}"))
            }
        }
    }
}

/// The resource of a kind in the core group.
pub(super) fn core_resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// The reason for a missing response.
enum RequestFailure {
    Kube(kube::Error),
    TooLate,
}

/// Whether the token of the next page is too old.
fn is_expired(error: &RequestFailure) -> bool {
    matches!(error, RequestFailure::Kube(kube::Error::Api(status)) if status.code == 410)
}

/// The relevant cause in a chain that repeats itself at every level: a problem with the user's credentials, or else
/// the network error at the end.
fn cause_of(error: &kube::Error) -> String {
    let mut last: &(dyn Error + 'static) = error;
    while let Some(cause) = last.source()
        && !last.is::<AuthError>()
    {
        last = cause;
    }
    let is_late = last.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::TimedOut);
    if is_late || last.is::<Elapsed>() {
        "no response in time".to_owned()
    } else {
        last.to_string()
    }
}
