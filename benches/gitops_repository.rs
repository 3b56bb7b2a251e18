//! Writes a repository of ten thousand files for measuring `almanac validate`. Only a hundred files are relevant. The
//! repository has two clusters with fifty policies each, their targets among thousands of other manifests, and
//! realistic values, dashboards, charts and workflows. With a number as the argument, the program writes that many
//! clusters instead, with a policy and its target each.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

const FILES: usize = 10_000;
const POLICIES: usize = 50;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).context("name the directory to write into")?;
    let folder = Path::new(&folder);
    let mut bytes = 0;
    let mut files = 0;
    let mut write = |path: String, text: String| -> anyhow::Result<()> {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().context("the path has no directory")?)?;
        bytes += text.len();
        files += 1;
        fs::write(path, text).context("failed to write a file")
    };
    if let Some(clusters) = std::env::args().nth(2) {
        for number in 0..clusters.parse().context("the number of clusters is not a number")? {
            let cluster = format!("clusters/cluster-{number}/apps/shop");
            write(format!("{cluster}/hours.yaml"), policy(0, number % 40 + 2))?;
            write(format!("{cluster}/shop.yaml"), deployment(0))?;
        }
    } else {
        for (cluster, replicas) in [("prod", 40), ("staging", 4)] {
            for number in 0..POLICIES {
                let path = format!("clusters/{cluster}/team-{}/hours-{number}.yaml", number % 7);
                write(path, policy(number, replicas))?;
            }
        }
        for number in 0..FILES - 2 * POLICIES {
            let (path, text) = other(number);
            write(path, text)?;
        }
    }
    println!("{files} files, {bytes} bytes");
    Ok(())
}

fn policy(number: usize, replicas: usize) -> String {
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata:\n  \
         name: hours-{number}\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    \
         kind: Deployment\n    name: web-{number}\n  rules:\n  - name: open\n    \
         schedule: \"{} 8 * * *\"\n    targetReplicas: {replicas}\n  - name: close\n    \
         schedule: \"{} 20 * * *\"\n    targetReplicas: 1\n",
        number % 60,
        number % 60
    )
}

/// The files of a repository other than policies; every seventh is a Deployment, and some of these
/// are targets.
fn other(number: usize) -> (String, String) {
    let part = number / 7;
    let folder = format!("apps/part-{}/app-{part}", part % 40);
    match number % 7 {
        0 => (format!("{folder}/deployment.yaml"), deployment(part)),
        1 => (format!("{folder}/service.yaml"), service(part)),
        2 => {
            (format!("{folder}/values.yaml"), "replicaCount: 1\nimage: {tag: latest}\n".to_owned())
        }
        3 => (format!("{folder}/config.yaml"), config(part)),
        4 => (format!("{folder}/dashboard.json"), dashboard(part)),
        5 => (
            format!("{folder}/chart/templates/all.yaml"),
            "{{- if .Values.enabled }}\nkind: {{ .Values.kind }}\n{{- end }}\n".to_owned(),
        ),
        _ => (format!("{folder}/workflow.yml"), "on: [push]\njobs:\n  a: {steps: []}\n".to_owned()),
    }
}

fn deployment(number: usize) -> String {
    let container = "      - name: web\n        image: registry.example.com/web:1.0\n        \
                     resources: {requests: {cpu: 100m, memory: 64Mi}}\n";
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-{number}\nspec:\n  \
         replicas: 3\n  template:\n    spec:\n      containers:\n{}",
        container.repeat(4)
    )
}

fn service(number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: web-{number}\nspec:\n  \
         ports: [{{port: 80}}]\n"
    )
}

fn config(number: usize) -> String {
    let line = "    a line of configuration that is as long as such lines mostly are\n";
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-{number}\ndata:\n  file: |\n{}",
        line.repeat(40)
    )
}

fn dashboard(number: usize) -> String {
    let panel = "{\"type\": \"graph\", \"targets\": [{\"expr\": \"rate(requests_total[5m])\"}]}";
    format!("{{\"uid\": \"{number}\", \"panels\": [{}]}}", vec![panel; 120].join(", "))
}
