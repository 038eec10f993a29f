//! The replies to one call, measured.

use portion_tokens::Tokenizer;

use super::selection::Call;
use crate::stdio_client::ToolResponse;

/// A measured reply, or why there is none.
pub(super) type Reply = Result<Measured, String>;

/// Cost of a reply, and the text that a model reads.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) tokens: usize,
    /// Bytes on the wire.
    pub(super) bytes: usize,
    pub(super) milliseconds: f64,
    /// The first text.
    pub(super) text: String,
}

/// A call, directly and through Portion.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) call: Call,
    pub(super) direct: Reply,
    pub(super) portion: Reply,
}

impl Comparison {
    /// Returns true if both calls have a reply.
    pub(super) fn is_complete(&self) -> bool {
        self.direct.is_ok() && self.portion.is_ok()
    }

    /// Returns how many times fewer tokens Portion served; `None` if the reply passed unchanged.
    pub(super) fn ratio(&self) -> Option<f64> {
        let (Ok(direct), Ok(portion)) = (&self.direct, &self.portion) else { return None };
        (portion.tokens > 0 && direct.tokens > portion.tokens)
            .then(|| direct.tokens as f64 / portion.tokens as f64)
    }
}

/// Measures a reply. A result without text costs its JSON.
pub(super) fn measure(response: &ToolResponse) -> Measured {
    let counter = Tokenizer::MEASURE.counter();
    let whole = [response.result.get().to_owned()];
    let texts = if response.texts.is_empty() { &whole[..] } else { &response.texts };
    Measured {
        tokens: texts.iter().map(|text| counter.count(text)).sum(),
        bytes: response.bytes,
        milliseconds: response.elapsed.as_secs_f64() * 1_000.0,
        text: texts.first().cloned().unwrap_or_default(),
    }
}
