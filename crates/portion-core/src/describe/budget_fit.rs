//! Lines within a number of tokens.

use serde_json::{Map, Value};

use crate::scan::quote;
use crate::tokens::TokenCounter;

/// Tokens that anything told takes.
const MIN_FACT_TOKENS: usize = 6;
/// Tokens of the braces around all.
const BRACES_TOKENS: usize = 2;

/// Those lines, a name and what is told of it, that fit so many tokens as members of an object. They are tried in the
/// order of `first`, and told in their own.
pub(super) fn fit_to_budget(
    lines: &[(String, String)],
    counter: &dyn TokenCounter,
    tokens: usize,
    first: impl Iterator<Item = usize>,
) -> Map<String, Value> {
    let mut left = tokens.saturating_sub(BRACES_TOKENS);
    let mut taken = Vec::new();
    for at in first {
        let Some((name, words)) = lines.get(at).filter(|_| left >= MIN_FACT_TOKENS) else { break };
        let member = format!("{}:{},", quote(name), quote(words));
        if let Some(cost) = counter.count_within(&member, left) {
            left -= cost;
            taken.push(at);
        }
    }
    loop {
        let mut shown = taken.clone();
        shown.sort_unstable();
        let told: Map<String, Value> =
            shown.into_iter().map(|at| (lines[at].0.clone(), lines[at].1.as_str().into())).collect();
        // Pieces may cost more together than one by one.
        if taken.is_empty() || counter.fits(&Value::Object(told.clone()).to_string(), tokens) {
            return told;
        }
        taken.pop();
    }
}
