//! Access as a service account: its permissions, and no others.

use almanac_harness::{
    FaultProxy, Observation, PATIENCE, SharedTest, TestResult, await_condition, client_for,
    on_shared_cluster,
};
use anyhow::{Result, bail};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};

async fn create<K>(test: &SharedTest, object: Value) -> Result<()>
where
    K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::Serialize
        + serde::de::DeserializeOwned,
{
    let object: K = serde_json::from_value(object)?;
    Api::default_namespaced(test.client()).create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Our user name, according to the API server.
async fn user_of(client: &Client) -> Result<String> {
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = api.create(&PostParams::default(), &SelfSubjectReview::default()).await?;
    let user = review.status.and_then(|status| status.user_info);
    Ok(user.and_then(|user| user.username).unwrap_or_default())
}

fn is_forbidden<T>(result: kube::Result<T>) -> bool {
    matches!(result, Err(kube::Error::Api(status)) if status.code == 403)
}

#[test]
fn a_service_account_has_exactly_the_permissions_of_its_role() -> TestResult {
    on_shared_cluster(async |test| {
        if test.service_account("pilot").await.is_ok() {
            bail!("an account that does not exist was authenticated");
        }
        create::<ServiceAccount>(test, json!({"metadata": {"name": "pilot"}})).await?;
        let access = test.service_account("pilot").await?;
        let client = access.client()?;
        let full_name = format!("system:serviceaccount:{}:pilot", test.namespace());
        assert_eq!(user_of(&client).await?, full_name);
        assert_ne!(user_of(&test.client()).await?, full_name);
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        assert!(is_forbidden(maps.list(&ListParams::default()).await));

        let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]);
        create::<Role>(test, json!({"metadata": {"name": "pilot"}, "rules": rules})).await?;
        let role =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pilot"});
        let binding = json!({
            "metadata": {"name": "pilot"},
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", "name": "pilot", "namespace": test.namespace()}],
        });
        create::<RoleBinding>(test, binding).await?;
        await_condition("the role to count", PATIENCE, async || {
            maps.list(&ListParams::default()).await?;
            Ok(Observation::Holds(()))
        })
        .await?;
        assert!(is_forbidden(maps.get("any").await));
        Ok(())
    })
}

#[test]
fn a_program_behind_a_proxy_has_the_identity_of_the_proxy() -> TestResult {
    on_shared_cluster(async |test| {
        create::<ServiceAccount>(test, json!({"metadata": {"name": "pilot"}})).await?;
        let access = test.service_account("pilot").await?;
        let proxy = FaultProxy::start(access.client()?)?;
        let behind = client_for(&proxy.kubeconfig())?;
        assert_eq!(behind.default_namespace(), test.namespace());
        let full_name = format!("system:serviceaccount:{}:pilot", test.namespace());
        assert_eq!(user_of(&behind).await?, full_name);
        Ok(())
    })
}
