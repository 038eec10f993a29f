//! Lists the results that are kept for a caller.

use portion_core::cursor::{CursorTarget, Position};
use portion_core::view::View;
use portion_tokens::Tokenizer;
use serde_json::{Value, json};

use crate::call::Caller;
use crate::store::Extent;

use super::Gateway;

/// Most tokens of the list, as `o200k` counts them.
const MAX_TOKENS: usize = 300;

impl Gateway {
    /// Returns the results that are kept for a caller, the newest first, as JSON of at most 300 tokens. The oldest ones are
    /// only counted if there are more.
    pub async fn list_kept(&self, caller: &Caller) -> String {
        let counter = Tokenizer::O200k.counter();
        let (mut listed, mut json) = (Vec::new(), written(&[], 0));
        let results = self.kept_results.of_scope(&caller.scope);
        for (at, result) in results.iter().enumerate() {
            let view = View::root();
            let place = (view.id(), Extent::Page);
            let found = self.store.find_extent(&caller.scope, result.id, place, self.now()).await;
            let Some(held) = found.ok().filter(|held| !self.has_other_redaction(caller, held)) else {
                continue;
            };
            let target = CursorTarget { snapshot: result.id, view: view.id(), position: Position::default() };
            let cursor = self.renderer.keyring.sign(&target, &caller.scope);
            listed.push(result.to_json(&held, &cursor, self.now()));
            let longer = written(&listed, results.len() - at - 1);
            if counter.count(&longer) > MAX_TOKENS {
                break;
            }
            self.issued_cursors.record(caller, &Some(cursor));
            json = longer;
        }
        json
    }
}

/// Returns listed results, with the number of further ones.
fn written(listed: &[Value], further_count: usize) -> String {
    match further_count {
        0 => json!({ "kept": listed }),
        more => json!({ "kept": listed, "more": more }),
    }
    .to_string()
}
