//! Terms with their meanings: a tool tip at each, and a list at the end of a page.

use maud::{Markup, html};
use portion_core::event::{Outcome, ServedError};
use portion_core::render::StageName;

/// Terms in the order of the list.
const TERMS: [(&str, &str); 19] = [
    ("Upstream", "Tokens of the results that the servers returned."),
    (
        "Model",
        "Tokens of the replies that were sent to the client in place of the results, follow-ups included.",
    ),
    ("Kept out", "Share of the upstream tokens that no reply contained. Negative if replies were larger."),
    ("Saved", "Price of the upstream tokens less that of the reply tokens, by tokenPrice, in US dollars."),
    ("Tokens kept out", "Upstream tokens less those of replies: what no model had to read."),
    ("Requests", "Calls of tools, resources and prompts, and follow-ups."),
    ("Tokens to the model", "Tokens of the replies that were sent to the client, follow-ups included."),
    ("First call", "A request that went to a server, other than a follow-up."),
    ("Follow-up", "A request for more of a kept result. It does not go to the server."),
    (
        "Oversized",
        "A first call whose result was above the token budget of a reply. Such a result is served in parts.",
    ),
    ("Outcome", "Form of a reply: the whole payload, a page, a summary, a chunk, or an error."),
    ("Errors", "Replies that are errors: of Portion itself, or passed on from a server."),
    ("Items", "Records of a list that the reply contains."),
    ("Latency", "Time from the request to its reply, the server's own time included."),
    ("Added", "Part of the latency that Portion itself caused."),
    ("p50, p95, p99", "Value that 50, 95 or 99 of 100 requests do not exceed."),
    ("Estimates", "Token counts of replies, compared with exact counts where a reply was sampled."),
    ("Bias", "Mean deviation of the estimates from the exact counts: above 0 if they are too high."),
    ("Client", "Name that the client gave itself when it connected."),
];

/// Returns the meaning of the term that a name begins with.
pub(super) fn meaning(name: &str) -> Option<&'static str> {
    let known = TERMS.iter().find(|(term, _)| name.starts_with(term));
    known.map(|(_, meaning)| *meaning)
}

/// Renders a name with its meaning as a tool tip, if it is a term.
pub(super) fn term(name: &str) -> Markup {
    html! {
        @if let Some(meaning) = meaning(name) { abbr title=(meaning) { (name) } } @else { (name) }
    }
}

/// Renders the list of all terms.
pub(super) fn list() -> Markup {
    html! {
        details.terms {
            summary { "Terms" }
            dl {
                @for (term, meaning) in TERMS { div { dt { (term) } dd { (meaning) } } }
            }
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_figures_have_meanings() {
        for name in ["Upstream", "Kept out", "Oversized", "Errors", "Added latency, p95", "Follow-ups a call"]
        {
            assert!(meaning(name).is_some(), "{name}");
        }
        assert_eq!(meaning("Endpoint"), None);
        assert_eq!(meaning("Time"), None);
    }
}
