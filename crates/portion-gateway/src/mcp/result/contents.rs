//! The contents of a resource: what `resources/read` answers on one of our URIs, and what we put beside a server's.

use portion_core::render::{Body, Piece, Portion};
use portion_core::scan::quote;

use super::super::walk;
use super::READ_URI;
use super::local::completed;
use super::serve::Shown;

/// Entries that go on where a resource was cut. `modern` as in [`completed`].
pub(crate) fn read_contents(portion: &Portion, modern: bool) -> String {
    let here = portion.handle().map_or("portion://part".to_owned(), |cursor| format!("{READ_URI}{cursor}"));
    // No two entries of one URI.
    let uri = |i: usize| if i == 0 { quote(&here) } else { quote(&format!("{here}#{i}")) };
    let mut entries: Vec<String> =
        portion.pieces().iter().enumerate().map(|(i, piece)| entry(&uri(i), piece)).collect();
    entries.extend(portion.notice_beside().map(|_| notice_entry(portion.into())));
    let meta = format!("\"_meta\":{{{}}}", Shown::from(portion).marks());
    format!("{{\"contents\":[{}],{meta}{}}}", entries.join(","), completed(modern, true))
}

/// The notice as an entry. Its URI is that of the next: never the same twice, for clients cache by URI.
pub(super) fn notice_entry(shown: Shown<'_>) -> String {
    let uri = shown.cursor.map_or("portion://notice".to_owned(), |cursor| format!("{READ_URI}{cursor}"));
    text_entry(&quote(&uri), "application/json", shown.notice)
}

/// An entry of text. `uri` is JSON.
pub(super) fn text_entry(uri: &str, mime: &str, text: &str) -> String {
    format!("{{\"uri\":{uri},\"mimeType\":{},\"text\":{}}}", quote(mime), quote(text))
}

/// A piece as an entry. `uri` is JSON.
fn entry(uri: &str, piece: &Piece) -> String {
    match &piece.body {
        Body::Text(text) => text_entry(uri, piece.mime.as_deref().unwrap_or("text/plain"), text),
        Body::Base64(blob) => {
            let mime = piece.mime.as_deref().unwrap_or("application/octet-stream");
            format!("{{\"uri\":{uri},\"mimeType\":{},\"blob\":{}}}", quote(mime), quote(blob))
        }
        Body::Block(json) => whole_entry(uri, json),
    }
}

/// A block as an entry: itself where it is one or holds one, with its own URI, for it is whole.
fn whole_entry(uri: &str, json: &str) -> String {
    let all = walk::whole(json);
    let kind = walk::string(json, all, "type");
    match kind.as_deref() {
        None if walk::string(json, all, "uri").is_some() => json.to_owned(),
        Some("resource") => {
            let resource = walk::member(json, all, "resource").map(|resource| resource.of(json).to_owned());
            resource.unwrap_or_else(|| text_entry(uri, "application/json", json))
        }
        Some("image" | "audio") => {
            let member = |name| walk::member(json, all, name).map(|span| span.of(json));
            let mime = member("mimeType").unwrap_or("\"application/octet-stream\"");
            let blob = member("data").unwrap_or("\"\"");
            format!("{{\"uri\":{uri},\"mimeType\":{mime},\"blob\":{blob}}}")
        }
        _ => text_entry(uri, "application/json", json),
    }
}
