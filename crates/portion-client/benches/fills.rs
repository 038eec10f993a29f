//! Compares the ways to fill a budget on judged queries: how many relevant chunks each keeps.
//!
//! `PORTION_JUDGED=FILE cargo bench -p portion-client` reads a table with the columns `file`, `chunk id` and `relevance`
//! (1 is best, 4 least), tab-separated, with a head line. A file holds the chunks of one query as JSON, with `id`, `text`
//! and `score`; its path is relative to the table.
#![allow(missing_docs, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use portion_client::Chunk;
use portion_client::read::{FieldNames, read_chunks};
use portion_client::select::{Fill, select};
use portion_tokens::Tokenizer;

const BUDGETS: [usize; 5] = [512, 1024, 2048, 4096, 8192];
/// Relevance of a chunk by id.
type Judgements = BTreeMap<String, u32>;
/// A query: its chunks, and which are relevant.
type Query = (Vec<Chunk>, Judgements);

fn main() -> Result<(), Box<dyn Error>> {
    let Some(table) = std::env::var_os("PORTION_JUDGED") else {
        println!("skipped: set PORTION_JUDGED to a table of judged chunks");
        return Ok(());
    };
    let queries = read_queries(Path::new(&table))?;
    println!(
        "{} judged queries; per query: chunks kept, relevant ones, recall, gain (5 - relevance)",
        queries.len()
    );
    println!("budget  fill   kept  relevant  recall   gain  relevant in all   µs");
    for budget in BUDGETS {
        for fill in Fill::ALL {
            print_row(&queries, budget, fill);
        }
    }
    Ok(())
}

fn print_row(queries: &[Query], budget: usize, fill: Fill) {
    let (mut kept, mut relevant, mut recall, mut gain) = (0, 0, 0.0, 0);
    let began = Instant::now();
    for (chunks, judgements) in queries {
        let result = select(chunks.clone(), budget, Tokenizer::Len4.counter(), fill);
        let grade = |chunk: &Chunk| chunk.id.as_ref().and_then(|id| judgements.get(id)).copied();
        let grades: Vec<u32> = result.chunks.iter().filter_map(grade).collect();
        let judged = chunks.iter().filter_map(grade).count();
        kept += result.chunks.len();
        relevant += grades.len();
        recall += grades.len() as f64 / judged.max(1) as f64;
        gain += grades.iter().map(|grade| 5_u32.saturating_sub(*grade)).sum::<u32>();
    }
    let micros = began.elapsed().as_micros() / queries.len() as u128;
    let mean = |sum: f64| sum / queries.len() as f64;
    println!(
        "{budget:>6}  {:<5} {:>5.1}  {:>8.2}  {:>6.3}  {:>5.2}  {relevant:>15}  {micros:>4}",
        fill.name(),
        mean(kept as f64),
        mean(relevant as f64),
        mean(recall),
        mean(f64::from(gain)),
    );
}

fn read_queries(table: &Path) -> Result<Vec<Query>, Box<dyn Error>> {
    let mut by_file: BTreeMap<String, Judgements> = BTreeMap::new();
    for line in std::fs::read_to_string(table)?.lines().skip(1) {
        let [file, id, relevance] = *line.split('\t').collect::<Vec<_>>() else { continue };
        by_file.entry(file.to_owned()).or_default().insert(format!("\"{id}\""), relevance.parse()?);
    }
    let folder = table.parent().unwrap_or(Path::new("."));
    let read = |(file, judgements): (String, Judgements)| {
        let payload = std::fs::read_to_string(folder.join(file))?;
        let result = format!(r#"{{"content":[],"structuredContent":{payload}}}"#);
        Ok((read_chunks(&result, &FieldNames::default())?, judgements))
    };
    by_file.into_iter().map(read).collect()
}
