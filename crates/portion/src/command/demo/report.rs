//! What the demo found, as figures: `--json` prints it, `show` makes it readable.
use std::time::Duration;

use serde::Serialize;

/// All figures of one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// The counter behind every `tokens`.
    pub(crate) tokenizer: &'static str,
    /// A tool that answers with a long list.
    pub(crate) list: Comparison,
    /// A tool that answers with a long text.
    pub(crate) log: Comparison,
}

/// One tool, called directly and through Portion.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comparison {
    /// The tool's name.
    pub(crate) tool: &'static str,
    /// What the plain call costs without Portion.
    pub(crate) directly: Cost,
    /// The same call with Portion between.
    pub(crate) first: Step,
    /// What a model may ask next.
    pub(crate) next: Vec<Step>,
    /// All portions together against the original.
    pub(crate) proof: Proof,
}

/// What one answer costs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    /// Tokens of the text that a model reads, the notice included.
    pub(crate) tokens: usize,
    /// Bytes of the message on the wire.
    pub(crate) bytes: usize,
    /// From request to answer.
    pub(crate) milliseconds: f64,
}

/// One call through Portion and what came of it.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    /// What it is for.
    pub(crate) title: &'static str,
    /// The call as one would write it down, cursors abridged to `cursor`.
    pub(crate) call: String,
    /// What the answer cost.
    #[serde(flatten)]
    pub(crate) cost: Cost,
    /// The content as the model sees it.
    #[serde(skip)]
    pub(crate) text: String,
    /// What Portion says about it.
    #[serde(skip)]
    pub(crate) notice: String,
}

/// Whether the portions joined are the original.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    /// What a portion is called here: pages or chunks.
    pub(crate) portions_are: &'static str,
    /// How many portions it took.
    pub(crate) portions: usize,
    /// What is counted in them: schools or lines.
    pub(crate) units_are: &'static str,
    /// How many of those there were in all.
    pub(crate) units: usize,
    /// The tokens of the largest portion.
    pub(crate) largest_tokens: usize,
    /// Bytes of the portions joined.
    pub(crate) bytes: usize,
    /// SHA-256 of the portions joined, in hexadecimal digits.
    pub(crate) sha256: String,
    /// Whether they are the original, byte for byte.
    pub(crate) identical: bool,
    /// How long all of it took.
    pub(crate) milliseconds: f64,
}

impl Report {
    /// Whether all that was claimed held.
    pub(crate) fn is_lossless(&self) -> bool {
        self.list.proof.identical && self.log.proof.identical
    }
}

/// Milliseconds with their fraction.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
