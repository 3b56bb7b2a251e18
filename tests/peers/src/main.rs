//! Runs the code of Kubernetes and rewrites the records: `cargo xtask peers`.

use std::fs;
use std::path::Path;

use almanac_peers::{
    CASES, EXPRESSIONS_RECORD, ExpressionsRecord, RECORD, Record, SEED, ask_expressions,
    expressions_digest, requests, run_kubernetes, version,
};
use anyhow::{Context as _, Result};

fn main() -> Result<()> {
    record_expressions()?;
    record_autoscalers()
}

fn record_expressions() -> Result<()> {
    let answers = ask_expressions()?;
    let count = answers.len();
    let record =
        ExpressionsRecord { kubernetes: version()?, digest: expressions_digest(), answers };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(EXPRESSIONS_RECORD);
    fs::write(&file, record.to_string())
        .with_context(|| format!("failed to write {}", file.display()))?;
    let version = record.kubernetes;
    println!(
        "tests/peers/{EXPRESSIONS_RECORD}: {count} expressions, evaluated by Kubernetes {version}"
    );
    Ok(())
}

fn record_autoscalers() -> Result<()> {
    let requests = requests(SEED, CASES);
    let answers = run_kubernetes(&requests)?;
    let steps: usize = answers.iter().map(Vec::len).sum();
    let record = Record {
        kubernetes: version()?,
        seed: SEED,
        digest: Record::digest_of(&requests),
        answers,
    };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    fs::write(&file, record.to_string())
        .with_context(|| format!("failed to write {}", file.display()))?;
    println!(
        "tests/peers/{RECORD}: {} cases, {steps} steps, computed by Kubernetes {}",
        requests.len(),
        record.kubernetes
    );
    Ok(())
}
