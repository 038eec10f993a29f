//! What outcomes, steps and codes mean, in a sentence each.

use portion_core::event::Outcome;

/// What became of a request.
pub(super) fn outcome(name: &str) -> &'static str {
    match Outcome::named(name) {
        Some(Outcome::Untouched) => "It was small: the reply is the payload, byte for byte.",
        Some(Outcome::Unshaped) => "Shaping is off for it: the reply is the payload, however large.",
        Some(Outcome::Paginated) => "A page of a list was served; a cursor leads to the rest.",
        Some(Outcome::Summarized) => "A summary with named sections was served; each can be asked for.",
        Some(Outcome::Chunked) => {
            "A chunk of a text was served, or the lines that were asked for; a cursor leads on."
        }
        Some(Outcome::Queried) => "A question about a result that is kept was answered.",
        Some(Outcome::Projected) => "Named fields, a section or a path of the result were served.",
        Some(Outcome::Raw) => "Bytes were served as the server wrote them.",
        Some(Outcome::Capped) => {
            "Tokens could not be counted, or were counted badly: bytes alone decided, and cut early."
        }
        Some(Outcome::Expired) => {
            "The cursor led to a result that is no longer kept: the model could not read on, and was told to call \
             anew. Where this is frequent, raise snapshotTtl or snapshotMemory."
        }
        Some(Outcome::Refused) => {
            "The request could not be served; the model was told why, and how to go on."
        }
        None => "A later version of Portion knows what this means.",
    }
}

/// What a step did to a reply.
pub(super) fn step(name: &str) -> &'static str {
    match name {
        "dense" => "Records were written as the rows of a table, which names each field once.",
        "minify" => "White space between values went.",
        "condense" => "The fields that tell least were left out of every item; fields=all brings them back.",
        "elide" => "Long strings were shortened to their beginnings, with a mark of what is missing.",
        "fewer" => "Fewer items than were asked for were served; a cursor leads to the rest.",
        // Where the byte limit decided, what it left.
        _ => Outcome::named(name).map_or("", |left| outcome(left.name())),
    }
}

/// What an error means.
pub(super) fn error(code: &str) -> &'static str {
    match code {
        "upstream" => "The server itself answered with an error; Portion passed it on.",
        "cursor_expired" => {
            "The result that the cursor led to is no longer kept, or the selection it went through."
        }
        "cursor_invalid" => "The cursor was not issued by this process, or was altered on the way.",
        "query_invalid" => {
            "The question could not be asked: its SQL is wrong, or questions are switched off."
        }
        "limit_invalid" | "limit_too_large" => "The limit was no number, or above maxPageSize.",
        "page_invalid" | "offset_invalid" | "range_invalid" => {
            "The place that was asked for is none of this result."
        }
        "field_unknown" => "No item has a field of that name.",
        "path_unknown" => "Nothing stands at that path.",
        "section_unknown" => "The summary has no section of that name.",
        "sort_invalid" => "The result cannot be put in that order.",
        "max_tokens_invalid" => "maxTokens was no number, or outside what a reply may cost.",
        "controls_conflict" => "Two controls contradict each other.",
        "store_unavailable" => "The store of earlier replies could not be reached.",
        "message_too_large" => "The server's answer was above upstreamMessageLimit, and was not read.",
        "upstream_gone" => "The server ended, or could not be reached, before it answered.",
        "upstream_timeout" => "The server did not answer within requestTimeout.",
        "internal" => "Portion failed; what the model was told says how to go on.",
        _ => "See the message that the model was sent.",
    }
}
