//! Fits descriptions into a token budget.

use portion_json::scan::quote;
use portion_tokens::TokenCounter;
use serde_json::{Map, Value};

/// Smallest cost of a fact, in tokens.
const MIN_FACT_TOKENS: usize = 6;
/// Tokens of the braces around all facts.
const BRACES_TOKENS: usize = 2;

/// Returns the lines, pairs of name and description, that fit the token budget as members of an object. They
/// are tried in the order of `first` and returned in their own order.
pub(super) fn fit_to_budget(
    lines: &[(String, String)],
    counter: &dyn TokenCounter,
    tokens: usize,
    first: impl Iterator<Item = usize>,
) -> Map<String, Value> {
    let mut remaining = tokens.saturating_sub(BRACES_TOKENS);
    let mut taken = Vec::new();
    for at in first {
        let Some((name, words)) = lines.get(at).filter(|_| remaining >= MIN_FACT_TOKENS) else { break };
        let member = format!("{}:{},", quote(name), quote(words));
        if let Some(cost) = counter.count_within(&member, remaining) {
            remaining -= cost;
            taken.push(at);
        }
    }
    loop {
        let mut shown = taken.clone();
        shown.sort_unstable();
        let facts: Map<String, Value> =
            shown.into_iter().map(|at| (lines[at].0.clone(), lines[at].1.as_str().into())).collect();
        // Members may cost more together than one by one.
        if taken.is_empty() || counter.fits(&Value::Object(facts.clone()).to_string(), tokens) {
            return facts;
        }
        taken.pop();
    }
}
