//! Explains outcomes, stages and error codes in a sentence each.

use portion_core::event::{Outcome, ServedError};
use portion_core::render::StageName;

/// Explains an outcome.
pub(super) fn outcome(name: &str) -> &'static str {
    match Outcome::from_name(name) {
        Some(Outcome::Untouched) => "The payload was small and passed byte for byte.",
        Some(Outcome::Unshaped) => "Shaping is off: the payload passed whole, whatever its size.",
        Some(Outcome::Paginated) => "A page of a list was served; a cursor leads to the rest.",
        Some(Outcome::Summarized) => {
            "A summary with named sections was served; each section can be requested."
        }
        Some(Outcome::Chunked) => {
            "A chunk of a text or the requested lines were served; a cursor leads to the rest."
        }
        Some(Outcome::Queried) => "A query over a stored result was answered.",
        Some(Outcome::Projected) => "Named fields, a section or a path of the result were served.",
        Some(Outcome::Raw) => "Bytes were served as the server wrote them.",
        Some(Outcome::Capped) => {
            "Tokens could not be counted reliably, so the byte limit applied and cut the reply early."
        }
        Some(Outcome::Expired) => {
            "The result behind the cursor had expired. The model could not read on and was told to call again. If this is \
             frequent, raise snapshotTtl or snapshotMemory."
        }
        Some(Outcome::Refused) => {
            "The request could not be served; the model received the reason and the next step."
        }
        None => "Unknown outcome, recorded by a later version of Portion.",
    }
}

/// Explains a stage.
pub(super) fn step(name: &str) -> &'static str {
    match StageName::from_name(name) {
        Some(StageName::Dense) => "Records were written as rows of a table, which names each field once.",
        Some(StageName::Condense) => {
            "The least informative fields were left out of every item; fields=all returns them."
        }
        Some(StageName::Elide) => {
            "Long strings were shortened to their beginnings, with a mark of what is missing."
        }
        Some(StageName::Identify) => "Every item was reduced to the field that identifies it.",
        Some(StageName::Fewer) => "Fewer items than requested were served; a cursor leads to the rest.",
        // Of a reply limited by bytes, the outcome follows the stages.
        None => Outcome::from_name(name).map_or("", |capped| outcome(capped.name())),
    }
}

/// Explains an error code.
pub(super) fn error(code: &str) -> String {
    match ServedError::from_name(code) {
        Some(ServedError::Own(code)) => format!("Cause: {}.", code.info().cause.replace('`', "")),
        Some(ServedError::Upstream) => "Upstream error, passed on.".into(),
        None => "See the message that the model was sent.".into(),
    }
}
