//! The header fields that replies have beside those of the API.

/// A header field of replies.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHeader {
    /// Name.
    pub name: &'static str,
    /// Meaning, for the documentation.
    pub meaning: &'static str,
}

/// All header fields that a reply can have beside those of the API. Pages of other origins may read them.
pub const RESPONSE_HEADERS: [ResponseHeader; 9] = [
    header("Link", "`<…>; rel=\"next\"`: the URL of the next portion; absent on the last one"),
    header("X-Total-Count", "number of items of the whole list"),
    header("X-Portion-Kind", "kind of the reply: `page`, `summary`, `chunk`, `range`, `raw`"),
    header("X-Portion-Cursor", "cursor of the whole result, for further requests"),
    header("X-Portion-Next-Cursor", "cursor of the next portion; absent on the last one"),
    header("X-Portion-Notice", "the notice as JSON, if the body has no place for it; left out if it is long"),
    header("X-Portion-Stages", "what made the reply fit, separated by commas"),
    header("X-Portion-Upstream-Next", "next page of the API, if this reply does not end what the API sent"),
    header("X-Portion-Upstream-Total", "total of the API, if it is not that of `X-Total-Count`"),
];

const fn header(name: &'static str, meaning: &'static str) -> ResponseHeader {
    ResponseHeader { name, meaning }
}
