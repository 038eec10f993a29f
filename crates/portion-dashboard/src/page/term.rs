//! Terms with their meanings: a tool tip at each, and a list at the end of a page.

use maud::{Markup, html};

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
