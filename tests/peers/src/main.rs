//! Asks the code of Kubernetes and rewrites the record: `cargo xtask peers`.

use std::fs;
use std::path::Path;

use almanac_peers::{CASES, RECORD, Record, SEED, ask, asked, version};
use anyhow::{Context as _, Result};

fn main() -> Result<()> {
    let asked = asked(SEED, CASES);
    let answers = ask(&asked)?;
    let steps: usize = answers.iter().map(Vec::len).sum();
    let record =
        Record { kubernetes: version()?, seed: SEED, digest: Record::digest_of(&asked), answers };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    fs::write(&file, record.to_string())
        .with_context(|| format!("failed to write {}", file.display()))?;
    println!(
        "tests/peers/{RECORD}: {} cases, {steps} steps, as Kubernetes {} answers them",
        asked.len(),
        record.kubernetes
    );
    Ok(())
}
