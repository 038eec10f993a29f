//! The retrieval of the tour: chunks of a tool, and what the budgeted client keeps of them.
use portion_client::read::{FieldNames, read_chunks};
use portion_client::select::{Fill, select};
use portion_tokens::Tokenizer;
use serde_json::json;

use super::report::Retrieval;
use super::tour::{TourError, cost, format_call};
use crate::stdio_client::Client;

/// Default of `portion fetch --max-context-tokens`.
const BUDGET: usize = 8192;
const TOOL: &str = "search_rules";
const QUERY: &str = "deposit late arrival";

/// Calls the tool and keeps its best chunks.
pub(super) fn retrieve(client: &mut Client) -> Result<Retrieval, TourError> {
    let arguments = json!({"query": QUERY});
    let answer = client.call(TOOL, &arguments)?;
    let content: Vec<_> = answer.texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    let chunks = read_chunks(&json!({"content": content}).to_string(), &FieldNames::default())?;
    let count = chunks.len();
    let kept = select(chunks, BUDGET, Tokenizer::Len4.counter(), Fill::Stop);
    let best = kept.chunks.first().map(|chunk| {
        let id = chunk.id.as_deref().unwrap_or_default().trim_matches('"');
        format!("{id}: {}", chunk.text.as_deref().unwrap_or_default())
    });
    Ok(Retrieval {
        call: format_call(TOOL, &arguments),
        directly: cost(&answer),
        budget: BUDGET,
        chunks: count,
        kept: kept.chunks.len(),
        dropped: kept.dropped.len(),
        tokens: kept.tokens,
        best: best.unwrap_or_default(),
    })
}
