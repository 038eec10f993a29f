//! Estimates what a result costs a model, with and without Portion.

use portion_core::cursor::{CursorTarget, Keyring, Position, Scope};
use portion_core::policy::Policy;
use portion_core::render::{Context, FirstReply, PieceBody, first_reply};
use portion_core::snapshot::capture;
use portion_core::view::{Request, resolve};
use portion_tokens::Tokenizer;

use crate::check::observation::Observation;

/// Tokens of a result, by [`Tokenizer::MEASURE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// As the server returned it.
    pub direct: usize,
    /// As Portion serves it, with the default limits.
    pub portion: usize,
}

impl Estimate {
    /// Measures a result.
    pub fn of(observation: &Observation) -> Self {
        let count = |text: &str| Tokenizer::MEASURE.counter().count(text);
        let direct = observation.shown().into_iter().map(count).sum();
        let policy = Policy::default();
        let snapshot = capture(observation.payload());
        let Ok(resolved) = resolve(&snapshot, None, &Request::default(), &policy) else {
            return Self { direct, portion: direct };
        };
        // These cursors lead nowhere: they are a part of the cost.
        let (keyring, scope) = (Keyring::new(&[0; 32]), Scope::from_principal("check"));
        let mint = |position: Position| {
            Some(keyring.sign(&CursorTarget { snapshot: [0; 6], view: resolved.view.id(), position }, &scope))
        };
        let context = Context {
            policy: &policy,
            counter: Tokenizer::default().counter(),
            issue_cursor: &mint,
            read_call: "portion_read".into(),
            query_tool: Some("portion_query"),
            read_uri: None,
        };
        let portion = match first_reply(&snapshot, &resolved, &context) {
            FirstReply::Untouched { .. } => direct,
            FirstReply::Portion(portion) => {
                let texts = portion.pieces().iter().filter_map(|piece| match &piece.body {
                    PieceBody::Text(text) => Some(text.as_str()),
                    PieceBody::Block(_) | PieceBody::Base64(_) => None,
                });
                texts.chain(portion.separate_notice()).map(count).sum::<usize>().min(direct)
            }
        };
        Self { direct, portion }
    }

    /// Returns the saved share in percent.
    pub fn saved_percent(self) -> usize {
        self.direct.saturating_sub(self.portion) * 100 / self.direct.max(1)
    }
}
