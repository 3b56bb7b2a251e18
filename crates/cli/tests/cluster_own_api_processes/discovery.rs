//! The discovery requests of the controller for target kinds.

use std::path::Path;

use almanac_api::definitions::custom_resources;
use almanac_harness::{
    ControlPlaneOptions, FaultProxy, Observation, PATIENCE, Program, TestResult, await_condition,
    on_own_control_plane,
};
use anyhow::ensure;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

const POLICIES: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/default/cronfederatedhpas";
const MANY: usize = 40;

#[test]
fn a_kind_is_discovered_once_however_many_policies_name_it() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let client = test.client();
        define(&client).await?;
        for number in 0..MANY {
            create(&client, number).await?;
        }
        let proxy = FaultProxy::start(client.clone())?;
        let kubeconfig = format!("--kubeconfig={}", proxy.kubeconfig().display());
        let arguments = ["controller", "--leader-elect=false", &kubeconfig];
        let program = Path::new(env!("CARGO_BIN_EXE_almanac"));
        let program = Program::start_listening(program, &arguments, &[])?;
        await_condition("every status to tell of the unknown kind", PATIENCE, async || {
            program.check_running()?;
            let told = policies(&client).await?.iter().filter(|it| tells(it)).count();
            Ok(Observation::of(told == MANY, told))
        })
        .await?;
        let asked = proxy.requests();
        let asked = asked.iter().filter(|it| it.path.starts_with("/apis/example.com")).count();
        ensure!(asked == 1, "{MANY} policies name the kind, and it was asked for {asked} times");
        Ok(())
    })
}

async fn define(client: &Client) -> TestResult {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    for resource in custom_resources() {
        let definition = serde_json::from_value(resource.manifest())?;
        definitions.create(&PostParams::default(), &definition).await?;
    }
    await_condition("the kinds to be served", PATIENCE, async || {
        policies(client).await?;
        Ok(Observation::Holds(()))
    })
    .await
}

async fn create(client: &Client, number: usize) -> TestResult {
    let object = json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1",
        "kind": "CronFederatedHPA",
        "metadata": { "name": format!("shop-{number}"), "namespace": "default" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "example.com/v1", "kind": "Shop", "name": "shop" },
            "rules": [{ "name": "up", "schedule": "0 3 * * *", "targetReplicas": 7 }],
        },
    });
    let request = http::Request::post(POLICIES)
        .header("Content-Type", "application/json")
        .body(object.to_string().into_bytes())?;
    client.request::<Value>(request).await?;
    Ok(())
}

async fn policies(client: &Client) -> anyhow::Result<Vec<Value>> {
    let request = http::Request::get(POLICIES).body(Vec::new())?;
    let list: Value = client.request(request).await?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

fn tells(policy: &Value) -> bool {
    policy["status"]["conditions"].to_string().contains("TargetUnknownKind")
}
