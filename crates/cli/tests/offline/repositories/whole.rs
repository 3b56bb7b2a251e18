//! A large repository: charts, kustomizations, two clusters, and thousands of irrelevant files. All output is about
//! policies and their targets.

use crate::repositories::repository::{Repository, autoscaler, deployment, findings, policy};

fn repository() -> Repository {
    let mut repository = Repository::new("whole")
        .file("clusters/prod/shop/hours.yaml", policy("hours", "shop", 40))
        .file("clusters/prod/shop/shop.yaml", deployment("shop", 30))
        .file("clusters/prod/shop/shop-hpa.yaml", autoscaler("web", "web"))
        .file("clusters/staging/shop/hours.yaml", policy("hours", "shop", 4))
        .file("clusters/staging/shop/shop.yaml", deployment("shop", 2))
        .file("clusters/staging/shop/shop-hpa.yaml", autoscaler("web", "web"))
        .file("charts/cart/Chart.yaml", "name: cart\nversion: 1.0.0\n")
        .file("charts/cart/values.yaml", "peak: 3\n")
        .file("charts/cart/templates/hours.yaml", policy("hours", "{{ .Values.name }}", 3))
        .file("charts/cart/templates/plain.yaml", policy("hours", "shop", 3))
        .file("charts/cart/charts/queue/Chart.yaml", "name: queue\n")
        .file("charts/cart/charts/queue/templates/hours.yaml", policy("hours", "shop", 5))
        .file("bases/worker/kustomization.yaml", "resources: [hours.yaml]\n")
        .file("bases/worker/hours.yaml", policy("worker-hours", "worker", 3))
        .file(
            "overlays/east/kustomization.yaml",
            "resources: [../../bases/worker]\npatches: [{path: more.yaml}]\n",
        )
        .file("overlays/east/more.yaml", policy("worker-hours", "worker", 30))
        .file(
            "overlays/west/kustomization.yaml",
            "resources: [../../bases/worker]\ncomponents: [../../components/named]\n",
        )
        .file("components/named/kustomization.yaml", "kind: Component\nnamePrefix: west-\n")
        .file("flux/hours.yaml", policy("flux-hours", "${NAME:=flux}", 3));
    for number in 0..3000 {
        let (folder, number) = (format!("apps/part-{}", number % 90), number / 3);
        repository = match number % 3 {
            0 => repository.file(&format!("{folder}/{number}.yaml"), deployment("a", 1) + "x: [\n"),
            1 => repository.file(&format!("{folder}/values-{number}.yaml"), "{{ what }}: {a b}\n"),
            _ => repository.file(&format!("{folder}/{number}.json"), "{\"panels\": [1,]}"),
        };
    }
    repository
}

#[test]
fn findings_in_a_repository_are_about_policies_and_their_targets() {
    let repository = repository();
    let output = repository.run_json("validate", &[]);
    assert_eq!(findings(&output), [""; 0], "{output:#}");
    let notes = output["notes"].as_array().unwrap().iter();
    let paths: Vec<&str> = notes.map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["charts/cart", "flux/hours.yaml", "overlays/east", "overlays/west"]);
    repository
        .run(&["validate"])
        .assert_output(0, &["checked 7 objects in 7 files in 2 places: no problems found"]);

    let wrong = policy("hours", "shop", 4).replace("0 8 * * *", "0 8 * *");
    let repository = repository
        .file("clusters/staging/shop/hours.yaml", wrong)
        .file("clusters/prod/shop/shop.yaml", deployment("shop", 1).replace("apps/v1", "app/v1"));
    let expected = [
        "mistyped-version clusters/prod/shop/shop.yaml:1:13",
        "schedule clusters/staging/shop/hours.yaml:8:28",
    ];
    assert_eq!(findings(&repository.run_json("validate", &[])), expected);
}
